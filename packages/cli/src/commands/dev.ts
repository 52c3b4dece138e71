import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { isProblem, type PlaygroundEvent } from "../dev/history.ts";
import { operate } from "../dev/operate.ts";
import { Playground } from "../dev/playground.ts";
import { eventLines } from "../dev/view.ts";
import { ask, canAsk } from "../lib/ask.ts";
import {
  type CallbackChoice,
  signUrl,
  tokenOf,
  unsignedUrl,
  withCallback,
} from "../lib/callback.ts";
import { emulatorKey, playgroundFile, playgroundPort, webhookPath } from "../lib/environment.ts";
import { CommandFailed, UsageError } from "../lib/errors.ts";
import { codeOf, exchange } from "../lib/exchange.ts";
import { choiceOption, file, host, portOption, url, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

interface DevOptions extends CallbackChoice {
  readonly port: number;
  readonly host: string;
  readonly forward?: string;
  readonly db?: string;
  readonly output: "all" | "quiet";
}

/** Adds `dev`, which runs the emulated service and a webhook on one port. */
export function addDev(program: Command, terminal: Terminal): void {
  const command = program
    .command("dev")
    .summary("a playground: the emulated service and a webhook")
    .description(
      "A playground on one port: the emulated service, and a webhook with an inbox,\n" +
        "which you can view in a browser.\n" +
        "With --forward, notifications go to your own app instead. On a terminal, dev\n" +
        "offers a running app that it finds. There the arrow keys choose a notification;\n" +
        "r sends it again, d shows its details, o opens it in a browser.",
    )
    .option("--forward <url>", "your app's webhook", url)
    .addOption(portOption(playgroundPort))
    .option("--host <host>", "the address to listen on", host, "127.0.0.1")
    .option("--db <file>", `the playground's inbox (default: ${playgroundFile})`, file)
    .addOption(
      choiceOption("--output <what>", "what is printed; quiet: problems only, for scripts", [
        "all",
        "quiet",
      ]).default("all"),
    )
    .action((options: DevOptions) => dev(terminal, options));
  withExamples(withCallback(command), {
    "try it without an app": "reporthook dev",
    "with your app, which must use this service":
      "reporthook dev --forward http://127.0.0.1:3000/webhooks/reports\n" +
      "  $ REPORTS_URL=http://127.0.0.1:4747 REPORTS_API_KEY=test-api-key npm start",
    "in a script": "reporthook dev --output quiet &",
  });
}

async function dev(terminal: Terminal, options: DevOptions): Promise<void> {
  const { port, host, db, output, receiver } = options;
  if (options.forward !== undefined && db !== undefined) {
    throw new UsageError(
      "--db is the playground's inbox, and --forward uses none: omit one of them",
    );
  }
  const isQuiet = output === "quiet";
  const mayOffer = db === undefined && !isQuiet && canAsk(terminal);
  const forward = options.forward ?? (mayOffer ? await chooseApp(terminal) : undefined);
  if (forward === undefined && db === undefined) makeFolder();
  const token = tokenOf(await signUrl(forward ?? "http://localhost/", options));
  const to =
    forward === undefined ? { db: db ?? playgroundFile } : { forward: unsignedUrl(forward) };
  const apiKey = emulatorKey();
  const tell = (event: PlaygroundEvent): void => {
    if (isQuiet && !isProblem(event)) return;
    const lines = eventLines(event, { apiKey, to, receiver }, terminal);
    terminal.emit({ at: new Date(), ...event }, lines);
  };
  const playground = new Playground({ port, host, apiKey, to, token, receiver, tell });
  try {
    await terminal.during("Starting", () => playground.listen());
    await operate(terminal, playground, isQuiet);
  } finally {
    await terminal.during("Ending; Ctrl-C ends at once", () => playground.close());
  }
}

/** Creates the playground's folder, ignored by git. */
function makeFolder(): void {
  const folder = dirname(playgroundFile);
  try {
    const made = mkdirSync(folder, { recursive: true });
    if (made !== undefined) writeFileSync(`${folder}/.gitignore`, "*\n");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = `The folder ${folder} can't be created here (${code})`;
    throw new CommandFailed("no_folder", `${problem}: name the inbox file with --db <file>`);
  }
}

/** The ports where apps usually listen. */
export const usualPorts: readonly number[] = [3000, 3001, 4000, 5000, 5173, 8000, 8080, 8787];

const paths = [webhookPath, `/api${webhookPath}`];
const patienceMs = 1_000;

/** Finds apps on this machine and asks which one to forward to; undefined if there is none, or none is wanted. */
async function chooseApp(terminal: Terminal): Promise<string | undefined> {
  const urls = usualPorts.flatMap((port) => paths.map((path) => `http://localhost:${port}${path}`));
  const headers = { "content-type": "text/plain" };
  const question = { headers, body: "reporthook dev: is there a webhook?" };
  const look = async (url: string): Promise<string[]> => {
    // A receiver refuses plain text by this code, and keeps nothing of it.
    const code = codeOf(await exchange(url, question, patienceMs));
    return code === "unsupported_media_type" ? [url] : [];
  };
  const found = await terminal.during("Looking for your app", () => Promise.all(urls.map(look)));
  for (const url of found.flat()) {
    terminal.tell(`A webhook is running at ${url}.`);
    if (await ask("Forward notifications there, instead of to the playground's own?")) return url;
  }
  return undefined;
}
