import { createRequire } from "node:module";
import { Command } from "commander";
import { addDashboard } from "./commands/dashboard.ts";
import { addDev } from "./commands/dev.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addInbox } from "./commands/inbox.ts";
import { addRequest, addTest } from "./commands/service-calls.ts";
import { addTrigger } from "./commands/trigger.ts";
import { jsonOption, withExamples } from "./lib/options.ts";
import type { Terminal } from "./lib/terminal.ts";

/** The command line, with all its commands. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command("reporthook")
    .description("Webhooks of the batch-report service: try them out, and look after them.")
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand(false)
    .addOption(jsonOption())
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => process.stdout.write(text),
      // With --json, help that nobody asked for is an error like others.
      writeErr: (text) => terminal.json || process.stderr.write(text),
      // Told in one place, as all that goes wrong.
      outputError: () => {},
      getOutHelpWidth: () => 80,
      getErrHelpWidth: () => 80,
    });
  addDev(program, terminal);
  addTrigger(program, terminal);
  addTest(program, terminal);
  addRequest(program, terminal);
  addDoctor(program, terminal);
  addInbox(program, terminal);
  addDashboard(program, terminal);
  withExamples(program, [
    ["a playground: the emulated service, a webhook and its inbox", "reporthook dev"],
    ["send it a notification", "reporthook trigger report.complete"],
  ]);
  return program;
}

function version(): string {
  // By its own name: sources and build lie at different depths.
  const manifest = createRequire(import.meta.url)("reporthook/package.json");
  return (manifest as { version: string }).version;
}
