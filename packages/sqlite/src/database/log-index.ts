import { openSync, readSync } from "node:fs";
import { endianness } from "node:os";

/**
 * The header: among others whether it was written (12), the last frame (16), its checksum (24) and the salts (32). It stands there
 * twice; then comes the number of frames that are in the file. See sqlite.org/walformat.html.
 */
const headerBytes = 48;
const headersBytes = 2 * headerBytes + 4;
/** Then come units, each with the pages of so many frames and their hash table; the first has the headers in it. */
const unitBytes = 32_768;
const unitFrames = 4_096;
const firstUnitFrames = 4_062;
const firstPagesAt = 136;
const isLittle = endianness() === "LE";

/** The header of an index. */
export interface IndexHeader {
  readonly salts: Buffer;
  /** The number of the last frame, and its checksum. */
  readonly last: number;
  readonly checksum: readonly [number, number];
  /** The number of frames that are in the inbox file already. */
  readonly copied: number;
  /** Whether it was written, both times alike. */
  readonly isWhole: boolean;
}

/** The index of a log, `-shm`: by it SQLite finds the newest of each page, also for a checkpoint. */
export class LogIndex {
  /** It stays open as long as the file is there: closing it drops SQLite's locks. */
  readonly descriptor: number;

  constructor(path: string) {
    this.descriptor = openSync(`${path}-shm`, "r");
  }

  /** Null if it was cut off. */
  header(): IndexHeader | null {
    const bytes = this.#read(0, headersBytes);
    if (bytes.length < headersBytes) return null;
    const isOne = bytes
      .subarray(0, headerBytes)
      .equals(bytes.subarray(headerBytes, 2 * headerBytes));
    return {
      salts: bytes.subarray(32, 40),
      last: numberIn(bytes, 16),
      checksum: [numberIn(bytes, 24), numberIn(bytes, 28)],
      copied: numberIn(bytes, 2 * headerBytes),
      isWhole: isOne && bytes[12] === 1,
    };
  }

  /** The page of the frame with this number, from 1 on; null if it was cut off. */
  pageOf(number: number): number | null {
    const beyond = number - firstUnitFrames - 1;
    const unit = 1 + Math.floor(beyond / unitFrames);
    const at =
      beyond < 0 ? firstPagesAt + 4 * (number - 1) : unit * unitBytes + 4 * (beyond % unitFrames);
    const bytes = this.#read(at, 4);
    return bytes.length < 4 ? null : numberIn(bytes, 0);
  }

  #read(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, readSync(this.descriptor, bytes, 0, length, at));
  }
}

/** A number in the order of bytes of this machine. */
function numberIn(bytes: Buffer, at: number): number {
  return isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
}
