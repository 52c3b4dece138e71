import { type Benchmark, figure, type Subject } from "../benchmark.ts";
import { startChild } from "../child.ts";
import { inNewFolder } from "../inbox.ts";
import type { Task } from "../programs/reports.ts";

function subject(
  task: Task["task"],
  count: number,
  names: Pick<Subject, "label" | "row">,
): Subject {
  const measure: Subject["measure"] = ({ build, scale }) =>
    inNewFolder(async (folder) => {
      const child = startChild("reports", { build });
      const given: Task = { task, folder, count: Math.round(count * scale) };
      return { ms: await child.ask<number>(given).finally(() => child.end()) };
    });
  return { ...names, measure };
}

const asked = {
  label: "`receiver.reports.request`",
  row: "`reports.request` / client and one row",
};
const many = { row: "start on a file with a million settled requests / with none" };

/** The cost of following reports. */
export const reports: Benchmark = {
  name: "reports",
  title: "What following a report costs",
  about:
    "`receiver.reports.request` on a SQLite file, one at a time, against one row that is synced and `client.requestReport`, with a service that takes 10 ms. And the start of a receiver on a file with many settled requests, which SQL puts there.",
  figures: [figure("ms", "ms", 2, { isCompared: true, isRow: true })],
  maxRounds: 3,
  groups: [
    {
      name: "request",
      subjects: [
        subject("by hand", 1_000, { label: "`client.requestReport` and one row" }),
        subject("request", 1_000, asked),
      ],
    },
    {
      name: "start",
      subjects: [
        subject("start", 0, { label: "start without settled requests" }),
        subject("start", 1_000_000, { label: "start with 1,000,000 of them", ...many }),
      ],
    },
  ],
};
