import { rmSync } from "node:fs";
import type { Context, Subject } from "./benchmark.ts";
import { type Child, startChild } from "./child.ts";
import { shareCores } from "./cores.ts";
import { fillAtOnce } from "./deliveries.ts";
import { type EngineName, type InboxName, newFolder } from "./inboxes.ts";
import type { Count, Counted, Done, Task } from "./programs/inbox.ts";
import { type HowFar, howFar } from "./progress.ts";

/** How many deliveries a second an inbox stores, or stores and has handled, without HTTP. */
export function straightOn(
  inbox: InboxName,
  task: "store" | "store and handle",
  count: number,
  names: Pick<Subject, "label" | "row">,
): Subject {
  return {
    ...names,
    measure: (context) =>
      inNewFolder(async (folder) => {
        const all = Math.round(count * context.scale);
        const asked = { inbox, folder, task, count: all, atOnce: 256 } as const;
        return { ...(await toTheEnd(asked, context)) };
      }),
  };
}

/** How many deliveries a second so many processes verify and handle while more waits than they can. */
export function workersOn(
  inbox: EngineName,
  processes: number,
  waitingPerSecond: number,
  names: Pick<Subject, "label" | "row">,
): Subject {
  const measure = async (folder: string, context: Context): Promise<Counted> => {
    const { warmUpMs, measureMs, build, detail } = context;
    const count = Math.round((waitingPerSecond * (warmUpMs + measureMs)) / 1_000);
    await toTheEnd({ inbox, folder, task: "store", count, atOnce: fillAtOnce }, context);
    detail(": at work");
    const workers = Array.from({ length: processes }, () => startChild("inbox", { build }));
    const ends: (() => void)[] = [];
    try {
      for (const [at, { pid }] of workers.entries()) ends.push(shareCores(pid, at, inbox));
      const work: Task = { inbox, folder, task: "work" };
      await Promise.all(workers.map((worker) => worker.ask(work)));
      const time: Count = { warmUpMs, measureMs };
      const counted = await Promise.all(workers.map((worker) => worker.ask<Counted>(time)));
      const sum = (of: keyof Counted): number => counted.reduce((all, one) => all + one[of], 0);
      const left = Math.min(...counted.map((one) => one.left));
      if (left > 0) return { verified: sum("verified"), handled: sum("handled"), left };
      throw new Error(`${count} were too few for ${processes} workers: raise waitingPerSecond`);
    } finally {
      await Promise.all(workers.map((worker) => worker.end()));
      for (const end of ends) end();
    }
  };
  return {
    ...names,
    measure: (context) =>
      inNewFolder(async (folder) => {
        const { verified, handled } = await measure(folder, context);
        return { perSecond: (verified + handled) / 2, verified, handled };
      }),
  };
}

/** Runs in a new folder, and deletes that. */
export async function inNewFolder<T>(run: (folder: string) => Promise<T>): Promise<T> {
  const folder = newFolder();
  try {
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function toTheEnd(task: Task, { build, detail }: Context): Promise<Done> {
  const child: Child = startChild("inbox", { build });
  child.onNews((news) => detail(howFar(news as HowFar)));
  try {
    return await child.ask<Done>(task);
  } finally {
    await child.end();
  }
}
