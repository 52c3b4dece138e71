const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const perMs = 2 ** 20;

let lastMs = 0;
let sequence = 0;
const pool = new Uint8Array(12 * 256);
let used = pool.length;

/** A new delivery id: 26 characters that sort by `now`, then by order of creation in this process. */
export function newId(now: number): string {
  const ms = Math.floor(now);
  if (ms > lastMs) {
    lastMs = ms;
    sequence = 0;
  } else if (++sequence === perMs) {
    lastMs++;
    sequence = 0;
  }
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let id = base32(lastMs, 10) + base32(sequence, 4);
  for (const end = used + 12; used < end; used++) id += alphabet[(pool[used] ?? 0) & 31];
  return id;
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
