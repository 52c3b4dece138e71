import { openSync, writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/** The part of a notification that every handler gets. */
export interface Notification {
  readonly report_id: string;
}

/** The work of an app on a notification, the same behind every server and library. */
export type Handle = (notification: Notification) => void | Promise<void>;

/** The work of a handler that does more than count. */
export interface HandlerWork {
  /** It waits so long, as for the answer of another service, */
  readonly ms: number;
  /** and then adds the report's id to a file. */
  readonly file: string;
}

let count = 0;

/** How many were handled since the process began. */
export function handledSoFar(): number {
  return count;
}

/** Makes what handles. */
export function handlerOf(work?: HandlerWork): Handle {
  if (work === undefined) return () => void count++;
  const file = openSync(work.file, "a");
  return async ({ report_id: id }) => {
    await pause(work.ms);
    writeSync(file, `${id}\n`);
    count++;
  };
}
