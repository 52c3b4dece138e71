import { appendFileSync } from "node:fs";
import { bullmqInbox } from "@reporthook/bullmq";
import { createReceiver, DoNotRetry } from "@reporthook/core";

/** How a worker is started: as JSON in the environment variable WORKER. */
export interface WorkerOptions {
  readonly inboxUrl: string;
  readonly receiver: string;
  /** Where it writes down what it did. */
  readonly diary: string;
  readonly leaseMs: number;
  /** The behaviour of its handler: it ends the process, never ends, gives the delivery up, or does nothing. */
  readonly handler: "dies" | "hangs" | "parks" | "returns";
  /** Whether it only releases what is parked. */
  readonly releases?: boolean;
}

const options = JSON.parse(process.env["WORKER"] ?? "{}") as WorkerOptions;
const { inboxUrl, receiver: name, diary, leaseMs, handler, releases } = options;
const note = (line: string): void => appendFileSync(diary, `${line}\n`);

const receiver = createReceiver({
  client: {
    async authorize() {
      note("asked");
      return "valid";
    },
  },
  inbox: bullmqInbox({ connection: inboxUrl, leaseMs, logger: false }),
  name,
  autostart: false,
  logger: false,
});
receiver.on("*", async () => {
  note("begun");
  if (handler === "parks") throw new DoNotRetry("for a person");
  if (handler === "dies") process.kill(process.pid, "SIGKILL");
  if (handler !== "returns") await new Promise(() => {});
});
if (releases) await receiver.inbox.release({ reason: "do_not_retry" });
else await receiver.start();
process.once("disconnect", () => process.exit());
