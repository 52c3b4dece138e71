import { appendFileSync } from "node:fs";
import { createReceiver, type ReportRequest } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { secret, url } from "./scene.ts";

/** Where the process dies: each point says what it has done last. */
export type DeathPoint = "stored" | "sent" | "recorded" | "settled";

const [db = "", log = "", point = ""] = process.argv.slice(2) as [string, string, DeathPoint];

function die(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;);
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
  inbox: sqliteInbox(db),
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
} else {
  die();
}
