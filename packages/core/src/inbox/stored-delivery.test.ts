import { testDelivery } from "@reporthook/test-support/jobs";
import { expect, it } from "vitest";
import { entryOf, newStoredDelivery } from "./stored-delivery.ts";

it("entryOf() shows when a delivery was received, though it arrived earlier by lived time", () => {
  const delivery = testDelivery({ receivedAt: 1_000, arrivedAt: 900 });
  const stored = newStoredDelivery(delivery, { to: "received" }, null);
  expect(entryOf(stored, 0).receivedAt).toEqual(new Date(1_000));
});
