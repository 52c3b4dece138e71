import { createRequire } from "node:module";
import { Command } from "commander";
import { addCompletion } from "./commands/completion.ts";
import { addDashboard } from "./commands/dashboard.ts";
import { addDev } from "./commands/dev.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addInbox } from "./commands/inbox.ts";
import { addReports } from "./commands/reports.ts";
import { addCallbackUrl, addRequest, addTest } from "./commands/service-calls.ts";
import { addTrigger } from "./commands/trigger.ts";
import { assertValues, withExamples } from "./lib/options.ts";
import type { Terminal } from "./lib/terminal.ts";

/** Creates the command line with all commands. */
export function createProgram(terminal: Terminal): Command {
  // By name: sources and build are at different depths.
  const { version } = createRequire(import.meta.url)("reporthook/package.json");
  const program = new Command("reporthook")
    .description("Webhooks of the batch-report service: try, test and operate them.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .hook("preAction", (_, command) => assertValues(command))
    .configureOutput({
      writeOut: (text) => process.stdout.write(text),
      // With --json, help that was not requested is an error.
      writeErr: (text) => terminal.json || process.stderr.write(text),
      // Reported in one place, like every failure.
      outputError: () => {},
      getOutHelpWidth: () => 80,
      getErrHelpWidth: () => 80,
    });
  addDev(program, terminal);
  addTrigger(program, terminal);
  addTest(program, terminal);
  addRequest(program, terminal);
  addCallbackUrl(program, terminal);
  addDoctor(program, terminal);
  addInbox(program, terminal);
  addReports(program, terminal);
  addDashboard(program, terminal);
  addCompletion(program, terminal);
  addJson(program);
  withExamples(program, {
    "a playground: the emulated service, a webhook and its inbox": "reporthook dev",
    "send it a notification": "reporthook trigger report.complete",
  });
  return program;
}

function addJson(command: Command): void {
  command.option("--json", "print JSON, for other programs");
  for (const one of command.commands) addJson(one);
}
