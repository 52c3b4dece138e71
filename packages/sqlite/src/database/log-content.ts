import { closeSync, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { tryGet } from "@reporthook/core/store";
import { headerBytes as fileHeaderBytes, headerIn } from "./header.ts";
import { LogIndex } from "./log-index.ts";

const headerBytes = 32;
const frameHeaderBytes = 24;
const framesAtOnce = 64;
/** Both spellings of the magic number: without its last bit, which tells the order of bytes in checksums. */
const magic = 0x377f0682;
const saltAt = 16;
const pageSizes = [512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536];

function readLog(descriptor: number, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, at));
}

/** Whether SQLite would take it for a header: of any other size of pages no frame could be found. */
function isLog(header: Buffer): boolean {
  if (header.length !== headerBytes || (header.readUInt32BE(0) & ~1) >>> 0 !== magic) return false;
  return pageSizes.includes(header.readUInt32BE(8));
}

/** The position of a frame of this number, from 1 on. */
function frameAt(header: Buffer, number: number): number {
  return headerBytes + (number - 1) * (frameHeaderBytes + header.readUInt32BE(8));
}

/** Whether the header of a frame belongs to that of the log, and has the number of a page. */
function isFrameOf(header: Buffer, frame: Buffer): boolean {
  if (frame.length < frameHeaderBytes || frame.readUInt32BE(0) === 0) return false;
  return header.compare(frame, 8, 16, saltAt, saltAt + 8) === 0;
}

/** The pages in the frames that belong to the header, in their order. Many are read at once: a call takes longer than a page. */
function* framesIn(descriptor: number, header: Buffer): Generator<number> {
  if (!isLog(header)) return;
  const length = frameAt(header, framesAtOnce) - headerBytes + frameHeaderBytes;
  for (let number = 1; ; number += framesAtOnce) {
    const block = readLog(descriptor, frameAt(header, number), length);
    for (let index = 0; index < framesAtOnce; index++) {
      const frame = block.subarray(frameAt(header, index + 1) - headerBytes);
      if (!isFrameOf(header, frame)) return;
      yield frame.readUInt32BE(0);
    }
  }
}

/** The marks in the log of a file that is not open, of each header of the file in it, in their order; null if it has no frames. */
export function logMarksOf(path: string): readonly number[] | null {
  // Unlike that of the other two files this one may be closed: SQLite locks no log.
  const descriptor = tryGet(() => openSync(`${path}-wal`, "r"));
  if (descriptor === undefined) return null;
  try {
    const header = readLog(descriptor, 0, headerBytes);
    const frames = [...framesIn(descriptor, header)];
    if (frames.length === 0) return null;
    return frames.flatMap((page, index) => {
      if (page !== 1) return [];
      const at = frameAt(header, index + 1) + frameHeaderBytes;
      return headerIn(readLog(descriptor, at, fileHeaderBytes))?.mark ?? [];
    });
  } finally {
    closeSync(descriptor);
  }
}

/** The log of an open inbox: a restart finds in it only what stands before the first frame that is damaged. */
export class LogContent {
  readonly index: LogIndex;
  readonly #descriptor: number;
  /** The salts and the last frame, as the index had them at the last look. */
  #indexed: { readonly salts: Buffer; readonly last: number } = { salts: Buffer.alloc(0), last: 0 };
  #header: Buffer = Buffer.alloc(0);
  /** Whether a frame of this header follows the last one already: a transaction that was rolled back may leave some. */
  #isFollowed = false;
  /** The same at the last look at all of them, with their log. */
  #whole: { header: Buffer; frames: number; log: Stats } | null = null;

  /** Make it when the log and its index exist. */
  constructor(path: string) {
    this.index = new LogIndex(path);
    this.#descriptor = openSync(`${path}-wal`, "r");
  }

  /** Notes how long it is, in a transaction, before its commit; returns the end of the name of a damaged file, or null. */
  look(): "-wal" | "-shm" | null {
    const before = this.#indexed;
    this.#readHeader();
    this.#isFollowed = false;
    if (!isLog(this.#header)) return null;
    if (!this.#isIndexSound()) return "-shm";
    const { last, salts } = this.#indexed;
    // Also the one at the last look: a restart reads only up to the first that is damaged.
    const isSame = salts.equals(before.salts);
    for (const number of new Set(isSame ? [last, before.last] : [last])) {
      if (number === 0) continue;
      const page = this.#pageOf(number);
      if (page === null) return "-wal";
      if (page !== this.index.pageOf(number)) return "-shm";
    }
    this.#isFollowed = this.#has(last + 1);
    return null;
  }

  /** Ends the use of the log, once SQLite has closed the file; that of its index may not end yet. */
  close(): void {
    closeSync(this.#descriptor);
  }

  /** Whether it was deleted together with its index: SQLite does so where nobody else seems to have the file open. */
  isDeleted(): boolean {
    return [this.#descriptor, this.index.descriptor].every((each) => fstatSync(each).nlink === 0);
  }

  /** Whether all of it is in the inbox file, and nobody reads or writes it any more: its index has no frames. */
  isEmpty(): boolean {
    return this.index.header()?.last === 0;
  }

  /** Whether a commit that wrote something has followed what was there before. */
  hasGrown(): boolean {
    const before = this.#header;
    this.#readHeader();
    if (this.#header === before) {
      const isNext = !this.#isFollowed && this.#has(this.#indexed.last + 1);
      if (isNext || this.#endsAsIndexed()) return true;
      this.#readHeader();
      if (this.#header === before) return false;
    }
    // It was started over, by this commit or after a checkpoint of it.
    return this.#header.length === 0 || isLog(this.#header);
  }

  /** Whether all is there that was there at the last call; reads all of it. */
  isWhole(): boolean {
    const log = fstatSync(this.#descriptor);
    const before = this.#whole;
    if (log.mtimeMs === before?.log.mtimeMs && log.size === before.log.size) return true;
    const header = readLog(this.#descriptor, 0, headerBytes);
    const found = [...framesIn(this.#descriptor, header)].length;
    // SQLite may cut off those of a transaction that was rolled back.
    const frames = Math.min(found, this.index.header()?.last ?? found);
    // Another process has started it over meanwhile.
    if (!readLog(this.#descriptor, 0, headerBytes).equals(header)) return true;
    this.#whole = { header, frames, log };
    return before === null || !header.equals(before.header) || frames >= before.frames;
  }

  /**
   * Whether the index can be one of this log, in a transaction: nobody else changes it then. SQLite trusts the number of frames
   * that it says are in the file: it would delete the log with the others.
   */
  #isIndexSound(): boolean {
    const index = this.index.header();
    if (index === null) return false;
    const before = this.#indexed;
    const { salts, last } = index;
    this.#indexed = { salts, last };
    // This transaction may have started the log over: then it has no frames yet.
    const belongs = last === 0 || salts.equals(this.#header.subarray(saltAt, saltAt + 8));
    const isOlder = salts.equals(before.salts) && last < before.last;
    return index.isWhole && belongs && !isOlder && index.copied <= last;
  }

  /**
   * Whether its last frame is the one that its index says: a transaction that was rolled back may leave frames that belong to the
   * header, and the next commit overwrites them.
   */
  #endsAsIndexed(): boolean {
    const index = this.index.header();
    // Another process is about to start it over.
    if (index?.last === 0) return true;
    if (index === null || !isLog(this.#header)) return false;
    const last = readLog(this.#descriptor, frameAt(this.#header, index.last), frameHeaderBytes);
    return (
      last.length === frameHeaderBytes &&
      last.subarray(8, 16).equals(index.salts) &&
      last.subarray(8, 16).equals(this.#header.subarray(saltAt, saltAt + 8)) &&
      last.readUInt32BE(16) === index.checksum[0] &&
      last.readUInt32BE(20) === index.checksum[1]
    );
  }

  #readHeader(): void {
    const header = readLog(this.#descriptor, 0, headerBytes);
    if (!header.equals(this.#header)) this.#header = header;
  }

  /** Whether the frame of this number, from 1 on, belongs to the header. */
  #has(number: number): boolean {
    return this.#pageOf(number) !== null;
  }

  /** The page in the frame of this number, from 1 on; null if it does not belong to the header. */
  #pageOf(number: number): number | null {
    if (!isLog(this.#header)) return null;
    const at = frameAt(this.#header, number);
    const frame = readLog(this.#descriptor, at, frameHeaderBytes);
    return isFrameOf(this.#header, frame) ? frame.readUInt32BE(0) : null;
  }
}
