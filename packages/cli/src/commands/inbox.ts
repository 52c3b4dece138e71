import type { Command } from "commander";
import { addAct, releaseAll } from "../inbox/actions.ts";
import { addActs, addExport, addList, addShow, listParked, showOne } from "../inbox/list.ts";
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
    ...listParked,
    ...showOne,
    "run it again": "reporthook inbox release 01m7qk2v",
    ...releaseAll,
    "of another file": "reporthook inbox list --state parked --db /srv/app/inbox.db",
  });
}
