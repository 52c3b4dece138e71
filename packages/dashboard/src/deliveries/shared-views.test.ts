import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SharedViews } from "./shared-views.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Reads as a page does, until it leaves or reading fails. */
function watch(shown: ReturnType<SharedViews["join"]>) {
  const seen: string[] = [];
  let isOver = false;
  const ended = (async () => {
    while (!isOver) {
      const now = await shown.read();
      if (seen.at(-1) !== now) seen.push(now);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  })();
  ended.catch(() => {});
  return {
    seen,
    ended,
    leave() {
      isOver = true;
      shown.leave();
    },
  };
}

const open = async () => false;

/** A view that takes so long to read, and is another each time. */
function counting(tookMs = 0) {
  let number = 0;
  return vi.fn(async () => {
    if (tookMs > 0) await new Promise((resolve) => setTimeout(resolve, tookMs));
    return String(++number);
  });
}

it("SharedViews reads once a second for ten pages that show the same, and tells them all of each change", async () => {
  const isOver = vi.fn(open);
  const views = new SharedViews(isOver);
  const view = counting();
  const pages = Array.from({ length: 10 }, () => watch(views.join("one", view)));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(view.mock.calls.length).toBeLessThanOrEqual(21);
  expect(view.mock.calls.length).toBeGreaterThanOrEqual(19);
  expect(isOver.mock.calls.length).toBeLessThanOrEqual(20 + pages.length);
  const [first] = pages;
  for (const { seen } of pages) expect(seen).toEqual(first?.seen);
});

it("SharedViews shows a page that joins what the others see, without reading it again", async () => {
  const views = new SharedViews(open);
  const view = counting();
  watch(views.join("one", view));
  await vi.advanceTimersByTimeAsync(500);
  expect(await views.join("one", view).read()).toBe("1");
  expect(view).toHaveBeenCalledOnce();
});

it.each([
  ["one subject", 1],
  ["ten", 10],
])("SharedViews spends a twentieth of the time on %s, whatever a view takes", async (_, many) => {
  for (const tookMs of [2, 40, 300]) {
    const views = new SharedViews(open);
    const all = Array.from({ length: many }, () => counting(tookMs));
    const pages = all.map((view, at) => watch(views.join(String(at), view)));
    await vi.advanceTimersByTimeAsync(1_000_000);
    const calls = all.map((view) => view.mock.calls.length);
    const spentMs = calls.reduce((sum, each) => sum + each) * tookMs;
    expect(spentMs).toBeLessThanOrEqual(1_000_000 / 20 + 2 * many * tookMs);
    // None waits for good while others are read.
    expect(Math.max(...calls) - Math.min(...calls)).toBeLessThanOrEqual(1);
    expect(Math.min(...calls)).toBeGreaterThan(10);
    for (const page of pages) page.leave();
    await vi.advanceTimersByTimeAsync(2_000);
  }
});

it("SharedViews ends all pages when the receiver is closing", async () => {
  const isOver = vi.fn(open);
  const views = new SharedViews(isOver);
  const pages = ["one", "other"].map((key) => watch(views.join(key, counting())));
  await vi.advanceTimersByTimeAsync(5_000);
  isOver.mockResolvedValue(true);
  await vi.advanceTimersByTimeAsync(2_000);
  for (const page of pages) await expect(page.ended).rejects.toThrow("The receiver is closing");
});

it("SharedViews asks nothing once all pages have left", async () => {
  const isOver = vi.fn(open);
  const views = new SharedViews(isOver);
  const view = counting();
  const pages = [watch(views.join("one", view)), watch(views.join("one", view))];
  await vi.advanceTimersByTimeAsync(500);
  for (const page of pages) page.leave();
  const [asked, read] = [isOver.mock.calls.length, view.mock.calls.length];
  await vi.advanceTimersByTimeAsync(60_000);
  expect([isOver.mock.calls.length, view.mock.calls.length]).toEqual([asked, read]);
  expect(vi.getTimerCount()).toBe(0);
});

it("SharedViews ends the pages of a view that fails or gives no answer, and no others", async () => {
  for (const fails of [
    () => Promise.reject(new Error("away")),
    () => new Promise<never>(() => {}),
  ]) {
    const views = new SharedViews(open);
    const view = vi
      .fn<() => Promise<string>>()
      .mockResolvedValueOnce("1")
      .mockImplementation(fails);
    const page = watch(views.join("one", view));
    const other = watch(views.join("other", counting()));
    await vi.advanceTimersByTimeAsync(18_000);
    await expect(page.ended).rejects.toThrow();
    await vi.advanceTimersByTimeAsync(42_000);
    expect(other.seen.length).toBeGreaterThan(50);
    for (const each of [page, other]) each.leave();
  }
});
