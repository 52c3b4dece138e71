/** Signs contexts as tokens, and verifies tokens. */
export interface CallbackTokens {
  /** Signs a context, given as JSON text; `""` for none. */
  sign(context: string): Promise<string>;
  /** The context of a token signed with one of the secrets; null for any other text. Constant time. */
  verify(token: string): Promise<string | null>;
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const version = "1";
const macBytes = 32;
const algorithm = { name: "HMAC", hash: "SHA-256" };
const shape = /^1\.([\w-]*)\.([\w-]{43})$/;

/** Creates {@link CallbackTokens}, which are good for one receiver alone: the first secret signs, all verify. */
export function createCallbackTokens(secrets: readonly string[], receiver: string): CallbackTokens {
  let imported: readonly Key[] | undefined;

  // A promise that two requests await together would be lost with the first one, where requests share nothing.
  async function keys(): Promise<readonly Key[]> {
    imported ??= await Promise.all(secrets.map(keyOf));
    return imported;
  }

  return {
    async sign(context) {
      const encoded = encode(utf8.encode(context));
      const [key] = (await keys()) as [Key];
      const mac = await crypto.subtle.sign("HMAC", key, signedFor(receiver, encoded));
      return `${version}.${encoded}.${encode(new Uint8Array(mac))}`;
    },

    async verify(token) {
      const [, context, text] = shape.exec(token) ?? [];
      if (context === undefined || text === undefined) return null;
      const mac = decode(text);
      // The last character has bits to spare: of the texts that decode alike only one is the token.
      if (mac.byteLength !== macBytes || encode(mac) !== text) return null;
      const signed = signedFor(receiver, context);
      for (const key of await keys()) {
        if (await crypto.subtle.verify("HMAC", key, mac, signed)) {
          return new TextDecoder().decode(decode(context));
        }
      }
      return null;
    },
  };
}

const utf8 = /* @__PURE__ */ new TextEncoder();

/** An encoded context has no dot: no two pairs of receiver and context are signed alike. */
function signedFor(receiver: string, encoded: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`${version}.${receiver}.${encoded}`);
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
