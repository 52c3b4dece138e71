import { createServer } from "node:http";
import { type DashboardLogger, dashboard, ofInbox } from "@reporthook/dashboard";
import { onNode } from "@reporthook/dashboard/node";
import { type Command, Option } from "commander";
import {
  type InboxSource,
  nameOf,
  openInbox,
  warnOfOthers,
  withInboxSource,
} from "../inbox/source.ts";
import { dashboardPort } from "../lib/environment.ts";
import { pairs } from "../lib/layout.ts";
import { listen, untilEnd } from "../lib/listen.ts";
import { integer, jsonOption, loopback, receiverName, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

interface ShownOptions extends InboxSource {
  readonly receiver: string;
  readonly port: number;
  readonly host: string;
}

/** `dashboard`: an inbox in a browser, until it is told to end. */
export function addDashboard(program: Command, terminal: Terminal): void {
  const command = withInboxSource(program.command("dashboard"))
    .summary("look at an inbox in a browser")
    .description(
      "An inbox in a browser: look, release, retry and discard, also while the app runs.\n" +
        "It answers this machine alone.",
    )
    .option("--receiver <name>", "the receiver whose deliveries are shown", receiverName, "reports")
    .option(
      "--port <port>",
      "where to listen; 0 takes a free one",
      integer(0, 65_535),
      dashboardPort,
    )
    .addOption(
      new Option("--host <host>", "127.0.0.1, ::1 or localhost")
        .argParser(loopback)
        .default("127.0.0.1"),
    )
    .addOption(jsonOption())
    .action((options: ShownOptions) => show(terminal, options));
  withExamples(command, [
    ["what became of each delivery", "reporthook dashboard --db inbox.db"],
    ["of an app on many machines", "reporthook dashboard --inbox redis://127.0.0.1:6379"],
    [
      "on a server, seen from your machine",
      "ssh -t -L 4748:127.0.0.1:4748 server \\\n      npx reporthook dashboard --db /srv/app/inbox.db",
    ],
  ]);
}

async function show(
  terminal: Terminal,
  { receiver, port, host, ...source }: ShownOptions,
): Promise<void> {
  const inbox = await terminal.during("Opening the inbox", () => openInbox(source));
  const page = dashboard(ofInbox(inbox, { receiver }), { logger: loggerOf(terminal) });
  const server = createServer(onNode(page));
  try {
    const url = `${await listen(server, port, host)}/`;
    // Before anybody knows that there is something to end.
    const ended = untilEnd();
    terminal.emit({ url });
    const facts = pairs(
      [
        ["  page", url],
        ["  inbox", nameOf(source)],
      ],
      terminal,
    );
    const title = terminal.paint("bold", "The dashboard is up; Ctrl-C ends it.");
    for (const line of [title, "", ...facts, ""]) terminal.print(line);
    await warnOfOthers(terminal, inbox, source, receiver);
    await ended;
  } finally {
    server.close();
    server.closeAllConnections();
    await inbox.close();
  }
}

function loggerOf(terminal: Terminal): DashboardLogger {
  const tell: DashboardLogger["info"] = ({ id, reason, error }, message) => {
    const time = new Date().toTimeString().slice(0, 8);
    terminal.tell(terminal.clean(`${time}  ${message} ${id ?? reason ?? error ?? ""}`));
  };
  return { info: tell, error: tell };
}
