import type { Command } from "commander";
import { addAct } from "../inbox/actions.ts";
import { addActs, addExport, addList, addShow } from "../inbox/list.ts";
import { addErrors, addStats } from "../inbox/stats.ts";
import { addBackup, addErase, addPrune } from "../inbox/upkeep.ts";
import { withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

/** Adds `inbox …`, which also works while the app runs. */
export function addInbox(program: Command, terminal: Terminal): void {
  const group = program
    .command("inbox")
    .summary("inspect an inbox, release parked deliveries")
    .description("Inspect an inbox and decide on parked deliveries, also while the app runs.")
    .helpCommand(false);
  addList(group, terminal);
  addShow(group, terminal);
  for (const act of ["release", "retry", "discard"] as const) addAct(group, terminal, act);
  addExport(group, terminal);
  addStats(group, terminal);
  addErrors(group, terminal);
  addActs(group, terminal);
  addPrune(group, terminal);
  addErase(group, terminal);
  addBackup(group, terminal);
  withExamples(group, {
    "deliveries that need a decision": "reporthook inbox list --state parked",
    "the reason, and the body": "reporthook inbox show 01m7qk2v",
    "run it again": "reporthook inbox release 01m7qk2v",
    "run all that failed": "reporthook inbox release --reason attempts_used_up",
    "of another file": "reporthook inbox list --state parked --db /srv/app/inbox.db",
  });
}
