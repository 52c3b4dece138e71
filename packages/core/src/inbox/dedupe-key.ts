import { builtin } from "../lib/platform.ts";
import type { NewDelivery } from "./delivery.ts";

interface NodeCrypto {
  hash?(algorithm: "sha256", data: string | Uint8Array, encoding: "latin1"): string;
}

// In one call, as Node has it, it costs a tenth of the web's asynchronous one. Looked for when it is needed: it takes as
// long to load as a fifth of core.
let node: NodeCrypto | undefined;
const utf8 = new TextEncoder();
const halfBytes = 12;
const nothing = new Uint8Array();
// Input of the synchronous hash is not needed after it.
const scratch = new Uint8Array(8_192);

/** The parts of a signed delivery by which copies are recognized. */
export type DedupeInput = Pick<NewDelivery, "receiver" | "url" | "body"> & {
  readonly signature: string;
};

/**
 * The 24 bytes that stand for a signed delivery: 12 of SHA-256 over receiver and signature, 12 of SHA-256 over
 * receiver, path, query and body. The first half alone tells a signature that comes again with other bytes.
 */
export function dedupeKey(identity: DedupeInput): Uint8Array | Promise<Uint8Array> {
  const { receiver, signature, url, body } = identity;
  const name = `${receiver.length}:${receiver}`;
  const head = `${name}${url.length}:${url}`;
  node ??= builtin("node:crypto");
  try {
    if (node.hash !== undefined) {
      const content = joined(head, body, scratch);
      return keyOf(
        node.hash("sha256", name + signature, "latin1"),
        node.hash("sha256", content, "latin1"),
      );
    }
  } catch {
    // A stand-in for Node's module, which has the name and not the hash.
    node = {};
  }
  const halves = [digest(joined(name + signature)), digest(joined(head, body))];
  return Promise.all(halves).then(([first = "", second = ""]) => keyOf(first, second));
}

function keyOf(signed: string, content: string): Uint8Array {
  const key = new Uint8Array(2 * halfBytes);
  for (let at = 0; at < halfBytes; at++) {
    key[at] = signed.charCodeAt(at);
    key[halfBytes + at] = content.charCodeAt(at);
  }
  return key;
}

/** The UTF-8 of `head` and the bytes of `body`, in `room` if they fit. */
function joined(head: string, body: Uint8Array = nothing, room: Uint8Array = nothing): Uint8Array {
  const most = 3 * head.length + body.byteLength;
  const all = most <= room.byteLength ? room : new Uint8Array(most);
  const { written } = utf8.encodeInto(head, all);
  all.set(body, written);
  return all.subarray(0, written + body.byteLength);
}

async function digest(bytes: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return String.fromCharCode(...new Uint8Array(hash));
}
