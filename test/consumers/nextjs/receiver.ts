import { createClient, createReceiver, type Receiver } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";

function make(): Receiver {
  const { REPORTS_URL = "", REPORTS_API_KEY = "", INBOX = "inbox.db" } = process.env;
  const receiver = createReceiver({
    client: createClient({ baseUrl: REPORTS_URL, apiKey: REPORTS_API_KEY }),
    inbox: sqliteInbox(INBOX),
  });
  receiver.on("report.complete", (event) => console.log(`Report ${event.reportId} is ready`));
  return receiver;
}

// Next.js evaluates this file once for instrumentation.ts and once for the route: both share one receiver.
const shared = globalThis as typeof globalThis & { reports?: Receiver };

export const receiver = (): Receiver => (shared.reports ??= make());
