import { readFileSync } from "node:fs";

/** A call that the shim saw, or an acknowledgement that the test noted between the calls. */
export type TraceEvent =
  | { readonly type: "write"; readonly file: File; readonly at: number; readonly bytes: Buffer }
  | { readonly type: "truncate"; readonly file: File; readonly at: number }
  | { readonly type: "syncBegins" | "synced" | "syncFailed" | "unlink"; readonly file: File }
  | { readonly type: "answer"; readonly id: string };

type File = "other" | "database" | "log" | "folder";

const files: readonly File[] = ["other", "database", "log", "folder"];
const types = ["", "write", "syncBegins", "synced", "syncFailed", "truncate", "unlink", "answer"];
const headBytes = 24;

/** A record of the trace that says that a delivery was acknowledged. */
export function answerRecord(id: string): Buffer {
  const bytes = Buffer.from(id);
  const head = Buffer.alloc(headBytes);
  head.writeUInt32LE(types.indexOf("answer"));
  head.writeBigUInt64LE(BigInt(bytes.length), 16);
  return Buffer.concat([head, bytes]);
}

/** Reads a trace. */
export function readTrace(path: string): TraceEvent[] {
  const trace = readFileSync(path);
  const events: TraceEvent[] = [];
  for (let from = 0; from < trace.length; ) {
    const type = types[trace.readUInt32LE(from)] ?? "";
    const file = files[trace.readUInt32LE(from + 4)] ?? "other";
    const at = Number(trace.readBigUInt64LE(from + 8));
    const end = from + headBytes + Number(trace.readBigUInt64LE(from + 16));
    // Only writes and answers have bytes; of other records the length is 0.
    const bytes = trace.subarray(from + headBytes, end);
    if (type === "answer") events.push({ type, id: bytes.toString() });
    else events.push({ type, file, at, bytes } as TraceEvent);
    from = end;
  }
  return events;
}

/** How many syncs of a file succeeded. */
export function syncsOf(events: readonly TraceEvent[], file: File): number {
  return events.filter((event) => event.type === "synced" && event.file === file).length;
}

/** The share of the writes that reached the disk without a sync. */
export type Luck = "none" | "all" | "some";

/** The content of a disk after the power was cut: a file that is not there is null. */
export interface Disk {
  readonly database: Buffer | null;
  readonly log: Buffer | null;
}

/** One inode: its writes in order, and how many of them are surely on the disk. */
interface Inode {
  readonly changes: { readonly at: number; readonly bytes: Buffer | null }[];
  begun: number;
  durable: number;
}

/** Cuts the power after these events, and returns what is on the disk then. */
export function cutPower(events: readonly TraceEvent[], luck: Luck): Disk {
  const newest: Record<"database" | "log", Inode | null> = { database: null, log: null };
  let listed = { ...newest };
  let listing = { ...newest };
  for (const event of events) {
    if (event.type === "answer" || event.file === "other") continue;
    const { file } = event;
    if (file === "folder") {
      if (event.type === "syncBegins") listing = { ...newest };
      if (event.type === "synced") listed = listing;
      continue;
    }
    if (event.type === "unlink") {
      newest[file] = null;
      continue;
    }
    newest[file] ??= { changes: [], begun: 0, durable: 0 };
    apply(newest[file], event);
  }
  const found = luck === "none" ? listed : newest;
  return { database: contentOf(found.database, luck), log: contentOf(found.log, luck) };
}

function apply(inode: Inode, event: Exclude<TraceEvent, { readonly type: "answer" }>): void {
  if (event.type === "write") inode.changes.push({ at: event.at, bytes: event.bytes });
  else if (event.type === "truncate") inode.changes.push({ at: event.at, bytes: null });
  else if (event.type === "syncBegins") inode.begun = inode.changes.length;
  else if (event.type === "synced") inode.durable = inode.begun;
}

function contentOf(inode: Inode | null, luck: Luck): Buffer | null {
  if (inode === null) return null;
  const kept = inode.changes.filter(
    (_, index) => index < inode.durable || luck === "all" || (luck === "some" && index % 2 === 0),
  );
  let content = Buffer.alloc(0);
  for (const { at, bytes } of kept) {
    const length = bytes === null ? at : Math.max(content.length, at + bytes.length);
    const next = Buffer.alloc(length);
    content.copy(next);
    bytes?.copy(next, at);
    content = next;
  }
  return content;
}
