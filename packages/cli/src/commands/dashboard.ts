import { once } from "node:events";
import { createServer } from "node:http";
import type { Logger } from "@reporthook/core";
import { dashboard, ofInbox } from "@reporthook/dashboard";
import { onNode } from "@reporthook/dashboard/node";
import type { Command } from "commander";
import { addInboxCommand, type InboxSource, warnOfOthers, withInbox } from "../inbox/source.ts";
import { pairs, timeOfDay } from "../lib/layout.ts";
import { endOfCommand, startListening } from "../lib/listen.ts";
import { loopback, portOption, receiverOption, usualReceiver } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

interface ShownOptions extends InboxSource {
  readonly receiver: string;
  readonly port: number;
  readonly host: string;
}

/** Adds `dashboard`, which shows an inbox in a browser. */
export function addDashboard(program: Command, terminal: Terminal): void {
  const what =
    "View an inbox in a browser; release, retry and discard deliveries, also while\n" +
    "the app runs. It answers only this machine.";
  addInboxCommand(program, "dashboard", what, {
    "all deliveries": "reporthook dashboard --db inbox.db",
    "of an app on several machines": "reporthook dashboard --inbox redis://127.0.0.1:6379",
    "on a server, viewed from your machine":
      "ssh -t -L 4748:127.0.0.1:4748 server \\\n      npx reporthook dashboard --db /srv/app/inbox.db",
  })
    .summary("view an inbox in a browser")
    .addOption(receiverOption("the receiver whose deliveries are shown", usualReceiver))
    .addOption(portOption(4748))
    .option("--host <host>", "127.0.0.1, ::1 or localhost", loopback, "127.0.0.1")
    .action(({ port, host, ...given }: ShownOptions) =>
      withInbox(terminal, given, null, async (inbox, source) => {
        const tell: Logger["error"] = ({ id, reason, error }, message) => {
          const what = `${message} ${id ?? reason ?? error ?? ""}`;
          terminal.tell(terminal.clean(`${timeOfDay()}  ${what}`));
        };
        const logger = { info: tell, error: tell };
        const page = dashboard(ofInbox(inbox, { receiver: source.receiver }), { logger });
        const server = createServer(onNode(page));
        try {
          const url = `${await startListening(server, port, host)}/`;
          // Listen for signals before the URL is printed.
          const ended = once(endOfCommand().signal, "abort");
          const title = terminal.paint("bold", "The dashboard is running; Ctrl-C ends it.");
          const facts = { "  page": url, "  inbox": source.name };
          terminal.emit({ url }, [title, "", ...pairs(Object.entries(facts), terminal), ""]);
          await warnOfOthers(terminal, inbox, source);
          await ended;
        } finally {
          server.close();
          server.closeAllConnections();
        }
      }),
    );
}
