import {
  createClient,
  createReceiver,
  DoNotRetry,
  type EventOf,
  type Handler,
  memoryInbox,
  RetryAfter,
  ServiceError,
} from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";
import { createEmulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { inboxContract } from "@reporthook/testing";

const emulator = createEmulator();
const client = createClient(emulator.clientOptions);
const receiver = createReceiver<{ customer: string }>({
  client,
  inbox: sqliteInbox("inbox.db"),
  callback: { secrets: ["0123456789abcdef0123456789abcdef"] },
});

const complete: Handler<"report.complete", { customer: string }> = (event, { attempt }) => {
  const customer: string | undefined = event.context?.customer;
  if (customer === undefined) throw new DoNotRetry("whose is it?");
  if (attempt === 1) throw new RetryAfter(1_000);
};
receiver.on("report.complete", complete);
receiver.on(["report.processing", "report.internal_error"], (event) => {
  const status: "processing" | "internal_error" = event.status;
  console.log(status);
});
receiver.on("*", (event) => {
  if (event.type === "test_webhook_endpoint") console.log(event.payload.length);
});
// @ts-expect-error: there is no such event
receiver.on("report.completed", () => {});

export const handler = nodeHandler(receiver);
export type Complete = EventOf<"report.complete">["reportId"];

export async function ask(): Promise<boolean> {
  try {
    const { status } = await client.requestReport({
      domains: ["example.com"],
      granularity: "weekly",
    });
    return status === 200;
  } catch (error) {
    return error instanceof ServiceError && error.retryable;
  }
}

const { guarantees } = memoryInbox();
export const cases = inboxContract({ open: () => memoryInbox(), guarantees }).map(
  ({ name }) => name,
);
