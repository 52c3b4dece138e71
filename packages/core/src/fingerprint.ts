interface Hash {
  update(data: string | Uint8Array): Hash;
  digest(): Uint8Array;
}
interface NodeCrypto {
  createHash(algorithm: "sha256"): Hash;
}

// The synchronous digest of Node, Bun and Deno costs a quarter of the web's asynchronous one.
const node = (
  globalThis as {
    process?: { getBuiltinModule?: (id: "node:crypto") => NodeCrypto | undefined };
  }
).process?.getBuiltinModule?.("node:crypto");

/** The parts that make two signed deliveries one and the same. */
export interface Identity {
  readonly receiver: string;
  readonly signature: string;
  readonly url: string;
  readonly body: Uint8Array;
}

/**
 * The 24 bytes that stand for a signed delivery: 12 of SHA-256 over receiver and signature, 12 of SHA-256 over
 * receiver, path, query and body. The first half alone tells a signature that comes again with other bytes.
 */
export function fingerprint(identity: Identity): Uint8Array | Promise<Uint8Array> {
  const { receiver, signature, url, body } = identity;
  const signed = JSON.stringify([receiver, signature]);
  const content = JSON.stringify([receiver, url]);
  if (node !== undefined) {
    const hash = node.createHash("sha256").update(content).update(body);
    return halves(node.createHash("sha256").update(signed).digest(), hash.digest());
  }
  return Promise.all([digest(signed), digest(content, body)]).then(([a, b]) => halves(a, b));
}

function halves(signed: Uint8Array, content: Uint8Array): Uint8Array {
  const key = new Uint8Array(24);
  key.set(signed.subarray(0, 12));
  key.set(content.subarray(0, 12), 12);
  return key;
}

async function digest(head: string, rest: Uint8Array = new Uint8Array()): Promise<Uint8Array> {
  const first = new TextEncoder().encode(head);
  const all = new Uint8Array(first.byteLength + rest.byteLength);
  all.set(first);
  all.set(rest, first.byteLength);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all));
}
