import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { shareViews, type View } from "./shared-views.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Reads as a page does, until it leaves or reading fails. */
function watch(join: ReturnType<typeof shareViews>, key: string, view: View) {
  const leaving = new AbortController();
  const read = join(key, view, leaving.signal);
  const seen: string[] = [];
  const ended = (async () => {
    while (!leaving.signal.aborted) {
      const now = await read();
      if (seen.at(-1) !== now) seen.push(now);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  })();
  ended.catch(() => {});
  return { seen, ended, leave: () => leaving.abort() };
}

/** A view that takes so long to read, and is another each time. */
function counting(tookMs = 0) {
  let number = 0;
  return vi.fn(async () => {
    if (tookMs > 0) await new Promise((resolve) => setTimeout(resolve, tookMs));
    return String(++number);
  });
}

it("shareViews() reads once a second for ten pages that show the same, and tells them all of each change", async () => {
  const join = shareViews();
  const view = counting();
  const pages = Array.from({ length: 10 }, () => watch(join, "one", view));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(view.mock.calls.length).toBeLessThanOrEqual(21);
  expect(view.mock.calls.length).toBeGreaterThanOrEqual(19);
  const [first] = pages;
  for (const { seen } of pages) expect(seen).toEqual(first?.seen);
});

it("shareViews() shows a page that joins what the others see, without reading it again", async () => {
  const join = shareViews();
  const view = counting();
  watch(join, "one", view);
  await vi.advanceTimersByTimeAsync(500);
  expect(await join("one", view, new AbortController().signal)()).toBe("1");
  expect(view).toHaveBeenCalledOnce();
});

it.each([
  ["one subject", 1],
  ["ten", 10],
])("shareViews() spends a twentieth of the time on %s, whatever a view takes", async (_, many) => {
  for (const tookMs of [2, 40, 300]) {
    const join = shareViews();
    const all = Array.from({ length: many }, () => counting(tookMs));
    const pages = all.map((view, at) => watch(join, String(at), view));
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

it("shareViews() asks nothing once all pages have left", async () => {
  const join = shareViews();
  const view = counting();
  const pages = [watch(join, "one", view), watch(join, "one", view)];
  await vi.advanceTimersByTimeAsync(500);
  for (const page of pages) page.leave();
  const read = view.mock.calls.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(view.mock.calls.length).toBe(read);
  expect(vi.getTimerCount()).toBe(0);
});

it("shareViews() ends the pages of a view that fails or gives no answer, and no others", async () => {
  for (const fails of [
    () => Promise.reject(new Error("away")),
    () => new Promise<never>(() => {}),
  ]) {
    const join = shareViews();
    const view = vi
      .fn<() => Promise<string>>()
      .mockResolvedValueOnce("1")
      .mockImplementation(fails);
    const page = watch(join, "one", view);
    const other = watch(join, "other", counting());
    await vi.advanceTimersByTimeAsync(18_000);
    await expect(page.ended).rejects.toThrow();
    await vi.advanceTimersByTimeAsync(42_000);
    expect(other.seen.length).toBeGreaterThan(50);
    for (const each of [page, other]) each.leave();
  }
});
