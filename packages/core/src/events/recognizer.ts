import { type JsonObject, type Parse, type Recognition, recognize, toObject } from "./recognize.ts";

/** A body and its recognition. */
export interface RecognizedBody {
  readonly object: JsonObject;
  readonly recognition: Recognition;
}

interface Source {
  readonly id: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** The maximum number of bodies to keep, about as many as are worked on at a time, and their maximum length in bytes. */
const keptMax = 32;
const keptBytes = 16_384;

/** Reads and recognizes bodies, once for both stages: most deliveries are handled right after their verdict. */
export class Recognizer {
  readonly #parse: Parse | undefined;
  readonly #kept: { readonly id: string; readonly recognized: RecognizedBody }[] = [];

  constructor(parse: Parse | undefined) {
    this.#parse = parse;
  }

  /**
   * Reads a body, and keeps the result for {@link take}; null if it is no JSON object.
   *
   * @throws whatever `parse` throws
   */
  recognize(source: Source): RecognizedBody | null {
    const recognized = this.take(source);
    if (recognized === null || source.body.byteLength > keptBytes) return recognized;
    this.#kept.push({ id: source.id, recognized });
    if (this.#kept.length > keptMax) this.#kept.shift();
    return recognized;
  }

  /** Like {@link recognize}, but keeps nothing: the caller may change the object. */
  take({ id, body, headers }: Source): RecognizedBody | null {
    const at = this.#kept.findIndex((kept) => kept.id === id);
    const [kept] = at === -1 ? [] : this.#kept.splice(at, 1);
    if (kept !== undefined) return kept.recognized;
    const object = toObject(body);
    return object && { object, recognition: recognize(object, headers, this.#parse) };
  }
}
