import { Buffer } from "node:buffer";

/** Secrets that are planted, and looked for in all output. */
export class Canaries {
  readonly #planted = new Map<string, string>();

  /** Plants a secret; of its text, at least 16 letters or digits in a row are like nothing else. */
  plant(name: string, text: string): string {
    const [mark = text] = text.match(/[\w-]{16,}/g)?.sort((a, b) => b.length - a.length) ?? [];
    this.#planted.set(mark, name);
    return text;
  }

  /** A callback URL, whose token is planted by its signature: the context before it is no secret. */
  plantUrl(url: string): string {
    this.plant("callback token", url.slice(url.lastIndexOf(".") + 1));
    return url;
  }

  /** The names of those that an output shows: as they are, or in base64 or hexadecimal. */
  foundIn(output: string | Uint8Array): string[] {
    const bytes = Buffer.from(output as string);
    const found = [...this.#planted].filter(([mark]) =>
      forms(mark).some((form) => bytes.includes(form)),
    );
    return [...new Set(found.map(([, name]) => name))].sort();
  }
}

/** A text of which no part is encoded in a URL, in a header or as JSON, and what it is in other encodings. */
function forms(mark: string): string[] {
  const bytes = Buffer.from(mark);
  // The bytes before it decide which of its bits share a character with others: such a character is left out.
  const shifted = [0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64url")
      .slice(before === 0 ? 0 : before + 1, -2),
  );
  return [mark, ...shifted, bytes.toString("hex")];
}
