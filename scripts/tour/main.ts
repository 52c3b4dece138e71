import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, styleText } from "node:util";
import { type Client, createClient, type Entry } from "@reporthook/core";
import ora from "ora";
import { type App, type Steps, startApp } from "./app.ts";
import type { ServiceMessage, ServiceRequest } from "./service.ts";

const help = `The tour: the emulated service and an Express app, in two processes over HTTP.

Usage: npx --yes pnpm@10 start [--exit] [--port PORT]
                              [--db FILE]

  --exit       end after the last step, with 1 if one failed
  --port PORT  where the app listens on 127.0.0.1 (left out: 3000, or another
               free one if that is taken)
  --db FILE    the app's inbox (.tour/inbox.db): end the tour at any moment,
               start it again, and nothing is lost
  --help       this text
`;

const customer = "c-1";
const stepMs = 30_000;
// The inbox takes back the work of a killed process only after some seconds.
const finishMs = 60_000;
const defaultFile = fileURLToPath(new URL("../../.tour/inbox.db", import.meta.url));

async function main(): Promise<void> {
  const values = given();
  if (values.help) return void process.stdout.write(help);
  const port = portOf(values.port);
  const file = values.db ?? defaultFile;
  mkdirSync(dirname(file), { recursive: true });
  const service = fork(fileURLToPath(new URL("./service.ts", import.meta.url)));
  let app: App | undefined;
  try {
    process.stdout.write(
      "\nA notification's way: received → acknowledged → verified → handled.\nTimes are counted from the step's beginning.\n\n",
    );
    const up = "The service is up (emulated, its own process)";
    const { url, apiKey } = await step(up, async (_, note) => {
      const message = await started(service);
      note(message.url);
      return message;
    });
    const client = createClient({ baseUrl: url, apiKey });
    app = await step("Your Express app is up, with an inbox on SQLite", async (_, note) => {
      const value = await startApp(client, file, port).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EADDRINUSE") throw error;
        if (values.port === undefined) return startApp(client, file, 0);
        throw new Error(`Port ${port} is taken: give another one, or leave --port out`);
      });
      note(`${value.url} · ${file}`);
      return value;
    });
    await finish(app);
    await tour(client, service, app);
    if (!values.exit) await stayUp(app);
  } finally {
    await app?.close();
    if (service.connected) service.disconnect();
  }
}

function portOf(given = "3000"): number {
  const port = Number(given);
  if (/^\d+$/.test(given) && port <= 65_535) return port;
  throw new TypeError(`--port takes a number from 0 to 65535, not ${JSON.stringify(given)}`);
}

/** The options of the command line. */
function given() {
  try {
    return parseArgs({
      options: {
        exit: { type: "boolean", default: false },
        port: { type: "string" },
        db: { type: "string" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    const [sentence] = (error as Error).message.split(". ");
    throw new TypeError(`${sentence}; --help shows what there is`);
  }
}

/** Waits until the deliveries that the inbox holds from the last run are worked on. */
async function finish({ receiver }: App): Promise<void> {
  const before = await receiver.inbox.counts();
  const waiting = before.received + before.verified;
  const found = Object.entries(before).filter(([, count]) => count > 0);
  if (found.length === 0) return;
  const counts = found.map(([state, count]) => `${count} ${state}`).join(", ");
  await step(`The inbox holds deliveries of the last time: ${counts}`, async (_, note) => {
    await receiver.idle({ timeoutMs: finishMs });
    note(waiting === 0 ? "nothing was left to do" : `${waiting} finished now`);
  });
}

async function tour(client: Client, service: ChildProcess, app: App): Promise<void> {
  await step("test_webhook_endpoint: the address can be reached", async (from, note) => {
    await client.testWebhook(app.url);
    note(times(await handled(app, "test_webhook_endpoint", from), from));
  });
  const asked = `A report is requested for customer ${customer}: report.processing`;
  const id = await step(asked, async (from, note) => {
    const made = await request(app);
    note(times(await handled(app, "report.processing", from), from));
    return made;
  });
  await step("The report is ready: report.complete", async (from, note) => {
    service.send({ setStatus: "complete" } satisfies ServiceRequest);
    note(times(await handled(app, "report.complete", from), from));
  });
  await step("The event tells who asked: its callback URL is signed", async (_, note) => {
    const { context = null, requestId = null } = app.event ?? {};
    const told = `event.context is ${JSON.stringify(context)}, event.requestId ${requestId}`;
    if (context?.customer !== customer || requestId !== id) throw new Error(told);
    note(told);
  });
  await step("A forged notification reaches no handler", async (_, note) => {
    const before = await app.receiver.inbox.counts();
    const body = JSON.stringify({ status: "complete", report_id: `forged ${Date.now()}` });
    const headers = { "content-type": "application/json", "x-svc-authorization": "forged" };
    const answer = await fetch(app.url, { method: "POST", headers, body });
    await app.receiver.idle({ timeoutMs: stepMs });
    const { handled, rejected } = await app.receiver.inbox.counts();
    const isRejected = rejected === before.rejected + 1 && handled === before.handled;
    if (!answer.ok || !isRejected) throw new Error("It was not rejected");
    note("acknowledged, then rejected by the service's verdict");
  });
}

/** Asks for a report as the app would; resolves to the id of the request. */
async function request({ receiver }: App): Promise<string> {
  const report = { domains: ["example.com"], start_date: "2026-01", end_date: "2026-03" };
  const { id } = await receiver.reports.request(report, { context: { customer } });
  return id;
}

/** Runs one step, with its progress on the terminal: `note` is called with what is said below its title. */
async function step<T>(
  title: string,
  run: (from: number, note: (text: string) => void) => Promise<T>,
): Promise<T> {
  const from = performance.now();
  const { stdout } = process;
  // On a terminal of width 0, as CI may have, ora would clear lines without end.
  const spinner =
    stdout.isTTY && stdout.columns > 0
      ? ora({ text: title, stream: stdout, color: stdout.hasColors() ? "cyan" : false }).start()
      : null;
  try {
    let said = "";
    const value = await run(from, (text) => {
      said = text;
    });
    const ms = Math.round(performance.now() - from);
    spinner?.stop();
    stdout.write(
      `${styleText("green", "✔")} ${title}  ${styleText("dim", `${ms} ms`)}\n    ${styleText("dim", said)}\n`,
    );
    return value;
  } catch (error) {
    spinner?.stop();
    stdout.write(`${styleText("red", "✖")} ${title}\n`);
    throw error;
  }
}

async function started(service: ChildProcess): Promise<ServiceMessage> {
  const signal = AbortSignal.timeout(stepMs);
  const ended = once(service, "exit", { signal }).then(([code]) => {
    throw new Error(`The service's process ended with ${code} before it was up`);
  });
  const [message] = await Promise.race([once(service, "message", { signal }), ended]);
  ended.catch(() => {});
  return message;
}

async function handled(app: App, type: Entry["type"], from: number): Promise<Steps> {
  const until = performance.now() + stepMs;
  while (performance.now() < until) {
    await app.receiver.idle({ timeoutMs: stepMs });
    for (const steps of app.deliveries.values()) {
      const isNew = steps.acknowledged !== undefined && steps.acknowledged > from;
      if (isNew && steps.entry.type === type && steps.handled !== undefined) return steps;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`No ${type} was handled within ${stepMs} ms`);
}

function times({ acknowledged, verified, handled }: Steps, from: number): string {
  const at = (moment: number | undefined): string =>
    moment === undefined ? "–" : `${(moment - from).toFixed(1)} ms`;
  return `acknowledged ${at(acknowledged)} · verified ${at(verified)} · handled ${at(handled)}`;
}

async function stayUp(app: App): Promise<void> {
  const ended = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  // pnpm passes Ctrl-C on, which then comes twice.
  process.on("SIGINT", () => {});
  process.stdout.write(`
The app stays up. Look at its inbox in a browser:

  ${app.dashboard}

and from another terminal, send it a test notification,
which appears there at once:

  curl ${app.url} \\
    -H 'content-type: application/json' \\
    -d '{"event_type":"test_webhook_endpoint","payload":"hello"}'

Ctrl-C ends it; what it had not finished, the next start finishes.
pnpm may then say "Command failed": it says so of whatever Ctrl-C ends.

`);
  app.onStep = ({ entry }) => {
    const what = entry.type ?? "not verified yet";
    process.stdout.write(`${entry.receivedAt.toISOString()}  ${entry.state}  ${what}\n`);
  };
  const alive = setInterval(() => {}, 60_000);
  await ended;
  clearInterval(alive);
  process.stdout.write("\nClosing: running handlers finish first.\n");
}

// The reader of the output may close the pipe early (`| head`).
process.stdout.on("error", () => process.exit(1));
try {
  await main();
} catch (error) {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
