const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const pairs = Array.from(alphabet).flatMap((one) => Array.from(alphabet, (two) => one + two));
const perMs = 2 ** 20;

let lastMs = 0;
let prefix = base32(lastMs, 10);
let sequence = 0;
const pool = new Uint16Array(6 * 256);
let used = pool.length;

/** A new delivery id: 26 characters that sort by `now`, then by order of creation in this process. */
export function newId(now: number): string {
  const ms = Math.floor(now);
  if (ms > lastMs) begin(ms);
  else if (++sequence === perMs) begin(lastMs + 1);
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const at = used;
  used += 6;
  // Up to 12 characters are copied; what is longer is a tree of strings until somebody reads it.
  const random = pair(pool[at]) + pair(pool[at + 1]) + pair(pool[at + 2]);
  const more = pair(pool[at + 3]) + pair(pool[at + 4]) + pair(pool[at + 5]);
  return prefix + pair(sequence >> 10) + (pair(sequence) + random + more);
}

/** What is smaller than every id made at this moment or later, and greater than all made before. */
export function idAt(ms: number): string {
  return base32(Math.min(Math.max(0, Math.floor(ms)), 2 ** 50 - 1), 10);
}

function begin(ms: number): void {
  lastMs = ms;
  prefix = base32(ms, 10);
  sequence = 0;
}

/** Two characters for the lowest ten bits. */
function pair(bits = 0): string {
  return pairs[bits & 1_023] as string;
}

function base32(value: number, length: number): string {
  let text = "";
  let rest = value;
  for (let at = 0; at < length; at++) {
    text = alphabet[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
