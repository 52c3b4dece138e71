import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import { type Command, Option } from "commander";
import { type Playground, type PlaygroundEvent, startPlayground } from "../dev/playground.ts";
import { happeningLines, letters, type Setting, welcome } from "../dev/view.ts";
import {
  emulatorKey,
  playgroundFolder as folder,
  playgroundFile,
  playgroundPort,
} from "../lib/environment.ts";
import { CommandFailed, exitStatusOf, UsageError } from "../lib/errors.ts";
import { isLoopback, untilEnd } from "../lib/listen.ts";
import { file, integer, jsonOption, url, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

interface DevOptions {
  readonly port: number;
  readonly host: string;
  readonly forward?: string;
  readonly db?: string;
}

/** Adds `dev`, which runs the emulated service and a webhook on one port. */
export function addDev(program: Command, terminal: Terminal): void {
  const command = program
    .command("dev")
    .summary("a playground: the emulated service and a webhook")
    .description(
      "A playground on one port: the emulated service, and a webhook with an inbox,\n" +
        "which you can view in a browser at /dashboard.\n" +
        "With --forward, notifications go to your own app instead.",
    )
    .addOption(new Option("--forward <url>", "your app's webhook").argParser(url))
    .option(
      "--port <port>",
      "port to listen on; 0 takes a free one",
      integer(0, 65_535),
      playgroundPort,
    )
    .option("--host <host>", "the address to listen on", "127.0.0.1")
    .option("--db <file>", `the playground's inbox (default: ${playgroundFile})`, file)
    .addOption(jsonOption())
    .action((options: DevOptions) => dev(terminal, options));
  withExamples(command, [
    ["try it without an app", "reporthook dev"],
    [
      "with your app, which must use this service",
      "reporthook dev --forward http://127.0.0.1:3000/webhooks/reports\n" +
        "  $ REPORTS_URL=http://127.0.0.1:4747 REPORTS_API_KEY=test-api-key npm start",
    ],
  ]);
}

async function dev(terminal: Terminal, { port, host, forward, db }: DevOptions): Promise<void> {
  if (forward !== undefined && db !== undefined) {
    throw new UsageError(
      "--db is the playground's inbox, and --forward uses none: omit one of them",
    );
  }
  if (forward === undefined && db === undefined) makeFolder();
  const to = forward === undefined ? { db: db ?? playgroundFile } : { forward };
  const apiKey = emulatorKey();
  const tell = (happening: PlaygroundEvent): void => {
    terminal.emit({ at: new Date(), ...happening });
    for (const line of happeningLines(happening, { apiKey, to }, terminal)) terminal.print(line);
  };
  const playground = await terminal.during("Starting", () =>
    startPlayground({ port, host, apiKey, to, tell }),
  );
  try {
    const { url, webhook, dashboard } = playground;
    const ending = new AbortController();
    // Listen for signals before the URL is printed.
    const ended = untilEnd(ending.signal);
    terminal.emit({ what: "ready", url, webhook, ...(dashboard && { dashboard }), ...to });
    for (const line of welcome({ playground, apiKey, to }, terminal)) terminal.print(line);
    if (!isLoopback(host)) {
      const rest = dashboard === null ? "" : "; its dashboard answers only this machine";
      terminal.tell(`Everyone who can reach ${host} can use the playground${rest}.`);
    }
    const typed = listenTo(terminal, playground, to, ending);
    await ended;
    ending.abort();
    typed.close();
    process.stdin.destroy();
  } finally {
    await playground.close();
  }
}

/** Executes typed letters; `q` ends it. */
function listenTo(
  terminal: Terminal,
  playground: Playground,
  to: Setting["to"],
  ending: AbortController,
): Interface {
  const forwards = "forward" in to;
  const input = createInterface({ input: process.stdin, terminal: false });
  const act = async (letter: string): Promise<void> => {
    if (letter === "q") return ending.abort();
    if (letter === "t") return playground.test();
    if (letter === "r") return playground.request();
    if (!forwards && (letter === "b" || letter === "f")) {
      playground.broken = letter === "b";
      return terminal.print(
        playground.broken ? "The handler is broken; f fixes it." : "The handler is fixed.",
      );
    }
    if (letter !== "") for (const line of letters(forwards)) terminal.print(line);
  };
  input.on("line", (line) => {
    act(line.trim()).catch((error: unknown) =>
      terminal.print(terminal.clean(exitStatusOf(error).message)),
    );
  });
  return input;
}

/** Creates the playground's folder, ignored by git. */
function makeFolder(): void {
  if (existsSync(folder)) return;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/.gitignore`, "*\n");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = `The folder ${folder} can't be created here (${code})`;
    throw new CommandFailed("no_folder", `${problem}: name the inbox file with --db <file>`);
  }
}
