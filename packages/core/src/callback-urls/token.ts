/** The two kinds of tokens, with their marks. Neither can be taken for the other: the signature covers the mark. */
const marks = { context: "1", request: "2" } as const;

type TokenKind = keyof typeof marks;

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const macBytes = 32;
const algorithm = { name: "HMAC", hash: "SHA-256" };
const shape = /^([12])\.([\w-]*)\.([\w-]{43})$/;

/** Signs tokens, which are good for one receiver alone, with the first secret, and verifies them with all. */
export class CallbackTokens {
  readonly #secrets: readonly string[];
  readonly #receiver: string;
  #imported: readonly Key[] | undefined;

  constructor(secrets: readonly string[], receiver: string) {
    this.#secrets = secrets;
    this.#receiver = receiver;
  }

  async sign(text: string, kind: TokenKind = "context"): Promise<string> {
    const encoded = encode(utf8.encode(text));
    const mark = marks[kind];
    const [key] = (await this.#keys()) as [Key];
    const mac = await crypto.subtle.sign("HMAC", key, signedFor(mark, this.#receiver, encoded));
    return `${mark}.${encoded}.${encode(new Uint8Array(mac))}`;
  }

  /**
   * The content of a token signed with one of the secrets, a context as JSON text, `""` for none, or the id of a request; null for
   * any other text. Constant time.
   */
  async verify(token: string): Promise<{ kind: TokenKind; text: string } | null> {
    const [, mark, encoded, signature] = shape.exec(token) ?? [];
    if (mark === undefined || encoded === undefined || signature === undefined) return null;
    const mac = decode(signature);
    // The last character has bits to spare: of the texts that decode alike only one is the token.
    if (mac.byteLength !== macBytes || encode(mac) !== signature) return null;
    const signed = signedFor(mark, this.#receiver, encoded);
    for (const key of await this.#keys()) {
      if (await crypto.subtle.verify("HMAC", key, mac, signed)) {
        const kind = mark === marks.request ? "request" : "context";
        return { kind, text: new TextDecoder().decode(decode(encoded)) };
      }
    }
    return null;
  }

  // A promise that two requests await together would be lost with the first one, where requests share nothing.
  async #keys(): Promise<readonly Key[]> {
    this.#imported ??= await Promise.all(this.#secrets.map(keyOf));
    return this.#imported;
  }
}

const utf8 = /* @__PURE__ */ new TextEncoder();

/** Neither a mark nor what is encoded has a dot: no two contents, and no two receivers, are signed alike. */
function signedFor(mark: string, receiver: string, encoded: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`${mark}.${receiver}.${encoded}`);
}

function keyOf(secret: string): Promise<Key> {
  return crypto.subtle.importKey("raw", utf8.encode(secret), algorithm, false, ["sign", "verify"]);
}

function encode(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decode(text: string): Uint8Array<ArrayBuffer> {
  const base64 = text.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
