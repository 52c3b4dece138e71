import type { Shop } from "./page.ts";

/** The numbers of bookings that {@link booked} has to find. */
export const bookedOnce: Readonly<Record<string, number>> = {
  twice: 1,
  "rolled back": 0,
  "after the rollback": 1,
  together: 1,
  beside: 1,
};

/** Books as handlers do that run again, fail, and run at the same time; resolves to how often each event is booked. */
export async function booked(
  shop: Shop,
  count: (event: string) => Promise<number>,
): Promise<Record<string, number>> {
  await shop.book("twice");
  await shop.book("twice");
  const failed = shop.book("failed", () => {
    throw new Error("no seat is left");
  });
  const { message } = await failed.then(
    () => ({ message: "nothing was thrown" }),
    (error: Error) => error,
  );
  if (message !== "no seat is left") throw new Error(message);
  const rolledBack = await count("failed");
  await shop.book("failed");
  const events = ["together", "beside", "together", "beside", "together"];
  await Promise.all(events.map((event) => shop.book(event)));
  return {
    twice: await count("twice"),
    "rolled back": rolledBack,
    "after the rollback": await count("failed"),
    together: await count("together"),
    beside: await count("beside"),
  };
}
