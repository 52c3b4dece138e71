import { appendFileSync } from "node:fs";
import { createReceiver, type ReportRequest } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { secret, url } from "./scene.ts";

/** Where the process dies, or ends by itself: each point says what it has done last. */
export type EndPoint = "stored" | "sent" | "recorded" | "settled" | "answered";

const [db = "", log = "", point = ""] = process.argv.slice(2) as [string, string, EndPoint];

function die(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;);
}

const inbox = sqliteInbox(db);
const { requests } = inbox;
if (point === "answered" && requests !== undefined) {
  const { add } = requests;
  const noted: typeof add = async (request) => {
    const found = await add(request);
    appendFileSync(log, "looked\n");
    return found;
  };
  Object.assign(requests, { add: noted });
}
const receiver = createReceiver({
  client: {
    authorize: async () => "valid",
    async requestReport(report: ReportRequest) {
      if (point === "stored") die();
      appendFileSync(log, `${report.webhook_url}\n`);
      if (point === "sent") die();
      return { status: 202, body: {} };
    },
  },
  inbox,
  callback: { secrets: [secret], url, overdueMs: 1 },
  logger: false,
});
receiver.on("*", () => die());
const { id } = await receiver.reports.request(
  { domains: ["example.com"] },
  { context: { customer: "c-1" }, idempotencyKey: "k" },
);
if (point === "settled") {
  await receiver.reports.settle(id, "complete", { body: { file: "r" } });
  await receiver.start();
} else if (point === "answered") {
  await receiver.close();
} else {
  die();
}
