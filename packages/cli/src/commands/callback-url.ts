import type { Command } from "commander";
import {
  type CallbackChoice,
  callbackSecret,
  secretVariable,
  signUrl,
  withCallback,
} from "../lib/callback.ts";
import { UsageError } from "../lib/errors.ts";
import { url, withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

/** Adds `callback-url URL`, which prints a signed callback URL. */
export function addCallbackUrl(program: Command, terminal: Terminal): void {
  const command = program
    .command("callback-url")
    .summary("sign a callback URL")
    .description(
      `Print a webhook address with a callback token, signed with ${secretVariable}.\n` +
        "Whoever knows it can pass the receiver's check of the token: keep it out of logs.",
    )
    .argument("<url>", "the address of the webhook", url)
    .action(async (base: string, choice: CallbackChoice) => {
      if (callbackSecret() === null) {
        throw new UsageError(`Set ${secretVariable} to the app's secret: it signs the URL`);
      }
      terminal.reveal({ url: await signUrl(base, choice) });
    });
  withExamples(withCallback(command), {
    "to request a report by hand": `reporthook callback-url https://app.example/hook --context '{"customer":"c-1"}'`,
  });
}
