import { dashboard, ofInbox } from "@reporthook/dashboard";
import { CommandFailed } from "../lib/errors.ts";
import { fixtureText } from "../lib/fixture.ts";
import type { Terminal } from "../lib/terminal.ts";
import { findEntry } from "./find.ts";
import { type InboxSource, withInbox } from "./source.ts";

/** Runs `inbox export`: prints a delivery as a fixture, without secrets. */
export async function exportFixture(
  terminal: Terminal,
  given: string,
  options: InboxSource,
): Promise<void> {
  await withInbox(terminal, options, "Reading the inbox", async (inbox, source) => {
    const { receiver } = source;
    const details = await findEntry(inbox, given, source, receiver);
    // The dashboard knows which parts look secret.
    const page = dashboard(ofInbox(inbox, { receiver }), { logger: false });
    const address = `http://127.0.0.1/api/deliveries/${details.id}/body`;
    const answer = await page(new Request(address), { peer: "127.0.0.1" });
    if (details.body === null || !answer.ok) {
      throw new CommandFailed(
        "no_body",
        `The body of ${details.id} is no longer kept: export a newer delivery`,
      );
    }
    const contentType = details.headers["content-type"];
    const text = fixtureText({ type: details.type, contentType, body: await answer.text() });
    terminal.emit(JSON.parse(text));
    terminal.print(terminal.clean(text));
  });
}
