import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createLooks, type Shown } from "./looks.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Looks on as a page does, until it leaves or the look ends. */
function watch(shown: Shown) {
  const seen: (string | null)[] = [];
  let isOver = false;
  const ended = (async () => {
    while (!isOver) {
      await shown.next();
      if (seen.at(-1) !== shown.seen) seen.push(shown.seen);
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

/** A look that takes so long, and sees another thing each time. */
function counting(tookMs = 0) {
  let number = 0;
  return vi.fn(async () => {
    if (tookMs > 0) await new Promise((resolve) => setTimeout(resolve, tookMs));
    return String(++number);
  });
}

it("createLooks() looks once a second for ten pages that show the same, and tells them all of each change", async () => {
  const isOver = vi.fn(open);
  const looks = createLooks(isOver);
  const look = counting();
  const pages = Array.from({ length: 10 }, () => watch(looks.join("one", look)));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(look.mock.calls.length).toBeLessThanOrEqual(21);
  expect(look.mock.calls.length).toBeGreaterThanOrEqual(19);
  expect(isOver.mock.calls.length).toBeLessThanOrEqual(20 + pages.length);
  const [first] = pages;
  for (const { seen } of pages) expect(seen).toEqual(first?.seen);
});

it("createLooks() shows a page that joins what the others see, without a look", async () => {
  const looks = createLooks(open);
  const look = counting();
  watch(looks.join("one", look));
  await vi.advanceTimersByTimeAsync(500);
  expect(looks.join("one", look).seen).toBe("1");
  expect(look).toHaveBeenCalledOnce();
});

it.each([
  ["one subject", 1],
  ["ten", 10],
])("createLooks() looks a twentieth of the time at %s, at most", async (_, many) => {
  for (const tookMs of [2, 40, 300]) {
    const looks = createLooks(open);
    const all = Array.from({ length: many }, () => counting(tookMs));
    const pages = all.map((look, at) => watch(looks.join(String(at), look)));
    await vi.advanceTimersByTimeAsync(1_000_000);
    const calls = all.map((look) => look.mock.calls.length);
    const spentMs = calls.reduce((sum, each) => sum + each) * tookMs;
    expect(spentMs).toBeLessThanOrEqual(1_000_000 / 20 + 2 * many * tookMs);
    // None waits for good while others are looked at.
    expect(Math.max(...calls) - Math.min(...calls)).toBeLessThanOrEqual(1);
    expect(Math.min(...calls)).toBeGreaterThan(10);
    for (const page of pages) page.leave();
    await vi.advanceTimersByTimeAsync(2_000);
  }
});

it("createLooks() ends all pages when the receiver is closing", async () => {
  const isOver = vi.fn(open);
  const looks = createLooks(isOver);
  const pages = ["one", "other"].map((key) => watch(looks.join(key, counting())));
  await vi.advanceTimersByTimeAsync(5_000);
  isOver.mockResolvedValue(true);
  await vi.advanceTimersByTimeAsync(2_000);
  for (const page of pages) await expect(page.ended).rejects.toThrow("The receiver is closing");
});

it("createLooks() asks nothing once all pages have left", async () => {
  const isOver = vi.fn(open);
  const looks = createLooks(isOver);
  const look = counting();
  const pages = [watch(looks.join("one", look)), watch(looks.join("one", look))];
  await vi.advanceTimersByTimeAsync(500);
  for (const page of pages) page.leave();
  const [asked, looked] = [isOver.mock.calls.length, look.mock.calls.length];
  await vi.advanceTimersByTimeAsync(60_000);
  expect([isOver.mock.calls.length, look.mock.calls.length]).toEqual([asked, looked]);
  expect(vi.getTimerCount()).toBe(0);
});

it("createLooks() ends the pages of a look that fails or gives no answer, and no others", async () => {
  for (const fails of [
    () => Promise.reject(new Error("away")),
    () => new Promise<never>(() => {}),
  ]) {
    const looks = createLooks(open);
    const look = vi
      .fn<() => Promise<string>>()
      .mockResolvedValueOnce("1")
      .mockImplementation(fails);
    const page = watch(looks.join("one", look));
    const other = watch(looks.join("other", counting()));
    await vi.advanceTimersByTimeAsync(18_000);
    await expect(page.ended).rejects.toThrow();
    await vi.advanceTimersByTimeAsync(42_000);
    expect(other.seen.length).toBeGreaterThan(50);
    for (const each of [page, other]) each.leave();
  }
});
