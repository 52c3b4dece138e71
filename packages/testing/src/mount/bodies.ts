import type { State } from "@reporthook/core";
import type { ProblemCode } from "@reporthook/core/telemetry";
import { same } from "../assert.ts";
import { completeReport, type Definition } from "./fixture.ts";

interface Oddity {
  readonly what: string;
  readonly body: string | readonly number[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Where it ends when it is signed: always acknowledged first. */
  readonly signed: State;
  /** How it is answered when it is not; null when it is accepted. */
  readonly unsigned: ProblemCode | null;
}

const levels = 100_000;
const utf8 = (text: string): number[] => [...new TextEncoder().encode(text)];
// gzip of {"status":"complete"}
const gzipped = [
  31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 42, 46, 73, 44, 41, 45, 86, 178, 82, 74, 206, 207, 45,
  200, 73, 45, 73, 85, 170, 5, 0, 208, 39, 109, 66, 21, 0, 0, 0,
];

const oddities: readonly Oddity[] = [
  {
    what: "text that is not ASCII",
    body: '{"status":"complete","report_id":"größe-漢字-🎉"}',
    signed: "handled",
    unsigned: null,
  },
  { what: "nothing", body: "", signed: "dead", unsigned: "invalid_json" },
  { what: "null", body: "null", signed: "dead", unsigned: "invalid_json" },
  { what: "an array", body: `[${completeReport}]`, signed: "dead", unsigned: "invalid_json" },
  { what: "a number", body: "-1.0e3", signed: "dead", unsigned: "invalid_json" },
  { what: "a string", body: '"complete"', signed: "dead", unsigned: "invalid_json" },
  { what: "half a JSON text", body: '{"status":"comp', signed: "dead", unsigned: "invalid_json" },
  {
    what: "100,000 nested arrays",
    body: "[".repeat(levels) + "]".repeat(levels),
    signed: "dead",
    unsigned: "body_too_large",
  },
  {
    what: "40,000 nested objects",
    body: `${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}`,
    signed: "held",
    unsigned: "body_too_large",
  },
  {
    what: "1,000 nested arrays",
    body: "[".repeat(1_000) + "]".repeat(1_000),
    signed: "dead",
    unsigned: "invalid_json",
  },
  {
    what: "a key given twice",
    body: '{"status":"nothing","status":"complete"}',
    signed: "handled",
    unsigned: null,
  },
  {
    what: "__proto__ and constructor as keys",
    body: '{"__proto__":{"status":"complete"},"constructor":{"prototype":{"status":"complete"}}}',
    signed: "held",
    unsigned: null,
  },
  {
    what: "invalid UTF-8",
    body: [...utf8('{"status":"complete","x":"'), 0xc3, 0x28, 0xff, ...utf8('"}')],
    signed: "dead",
    unsigned: "invalid_json",
  },
  {
    what: "a byte order mark",
    body: [0xef, 0xbb, 0xbf, ...utf8(completeReport)],
    signed: "handled",
    unsigned: null,
  },
  {
    what: "gzip",
    body: gzipped,
    headers: { "content-encoding": "gzip" },
    signed: "dead",
    unsigned: "unsupported_media_type",
  },
];

/** The answers to unusual bodies, signed and unsigned. */
export const bodyCases: readonly Definition[] = oddities.flatMap((oddity) => {
  const { what, body, headers = {}, signed, unsigned } = oddity;
  const bytes = Uint8Array.from(typeof body === "string" ? utf8(body) : body);
  const sent = { headers, body: bytes };
  return [
    {
      name: `a signed body is stored and accepted: ${what}`,
      async run({ takes, stored, receiver }) {
        const id = await takes("accepted", sent);
        const kept = stored[0]?.body ?? new Uint8Array();
        same(hex(kept), hex(bytes), "the stored bytes");
        await receiver.idle({ timeoutMs: 60_000 });
        same((await receiver.inbox.get(id))?.state, signed, "the state");
        same(Object.hasOwn(Object.prototype, "status"), false, "the prototype is polluted");
      },
    },
    {
      name: `an unsigned body is accepted or refused: ${what}`,
      async run({ takes, refuses, stored }) {
        if (unsigned !== null) await refuses(unsigned, { ...sent, signature: null });
        else await takes("accepted", { ...sent, signature: null });
        same(stored.length, unsigned === null ? 1 : 0, "stored");
      },
    },
  ] satisfies Definition[];
});

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16)).join(" ");
}
