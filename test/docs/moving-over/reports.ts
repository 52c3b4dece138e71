import { createClient, createReceiver, type Inbox, type Receiver } from "@reporthook/core";

export function createReports(
  service: { readonly baseUrl: string; readonly apiKey: string },
  inbox: Inbox,
  publish: (reportId: string) => Promise<void>,
): Receiver {
  const client = createClient(service);
  // As before, forged and unsigned ones get 401. Without a verdict, the receiver stores them and asks again.
  const receiver = createReceiver({ client, inbox, verify: "before-ack", unsigned: "refuse" });
  // Runs after the answer, again if it throws, and once for a notification that is sent twice.
  return receiver.on("report.complete", async (event) => {
    if (event.reportId !== null) await publish(event.reportId);
  });
}
