const digits = "0123456789abcdefghjkmnpqrstvwxyz";
// Nothing here is made by a call that a bundler has to keep: a bundle of the client leaves all of it out.
const alphabet = /* @__PURE__ */ Array.from(digits, (one) => one.charCodeAt(0));
const values = /* @__PURE__ */ Array.from({ length: 123 }, (_, code) =>
  digits.indexOf(String.fromCharCode(code)),
);
const timeLength = 10;
const sequenceLength = 4;
const randomLength = 12;
const perMs = 1_048_576;
const aheadMs = 1_000;
const poolBytes = 3_072;
const pool = /* @__PURE__ */ new Uint8Array(poolBytes);

let lastMs = -1;
let sequence = 0;
let used = poolBytes;
// A string made of all its characters at once is flat; put together from parts it would be a tree, three times as large.
const codes: number[] = [];

/** A new delivery id: 26 characters that sort by `now`, a time of the wall clock, then by order of creation in this process. */
export function newId(now: number): string {
  const ms = Math.max(0, Math.floor(now));
  // Set back by more than this, the clock was ahead: ids must not stay there.
  if (ms > lastMs || ms < lastMs - aheadMs) begin(ms);
  else if (++sequence === perMs) begin(lastMs + 1);
  write(sequence, timeLength, sequenceLength);
  if (used === poolBytes) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const from = timeLength + sequenceLength;
  for (let at = 0; at < randomLength; at++) codes[from + at] = codeOf(pool[used + at]);
  used += randomLength;
  return String.fromCharCode(...codes);
}

/** The id that stands for a key of 24 bytes, the same each time. */
export function idOf(key: Uint8Array): string {
  const all: number[] = [];
  for (let at = 0; at < timeLength + sequenceLength + randomLength; at++) {
    all.push(codeOf(at < key.length ? key[at] : (key[at - key.length] ?? 0) >> 3));
  }
  return String.fromCharCode(...all);
}

/** The lower bound of all ids made at this moment or later; all earlier ids are smaller. */
export function idAt(ms: number): string {
  const time: number[] = [];
  write(Math.min(Math.max(0, Math.floor(ms)), 2 ** 50 - 1), 0, timeLength, time);
  return String.fromCharCode(...time);
}

/** The moment with which an id begins, in milliseconds since the epoch. */
export function timeOf(id: string): number {
  let ms = 0;
  for (let at = 0; at < timeLength; at++) ms = ms * 32 + (values[id.charCodeAt(at)] ?? 0);
  return ms;
}

function begin(ms: number): void {
  lastMs = ms;
  sequence = 0;
  write(ms, 0, timeLength);
}

/** Writes a number in base 32. */
function write(value: number, from: number, length: number, into = codes): void {
  let rest = value;
  for (let at = from + length - 1; at >= from; at--) {
    into[at] = codeOf(rest);
    rest = Math.floor(rest / 32);
  }
}

/** The character for the lowest five bits. */
function codeOf(bits = 0): number {
  return alphabet[bits % 32] as number;
}
