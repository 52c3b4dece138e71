// They change every 32 ms, so that what came together lies together.
const prefixLength = 9;

/**
 * What is kept, by its id, in the order in which it came: in many small maps. In one with as many keys as a backlog has, each
 * costs more than all the rest of storing it, and when it grows everything waits.
 */
export class ById<T> {
  readonly #maps = new Map<string, Map<string, T>>();
  // The one that was written to last, for the next one most likely belongs there.
  #prefix = "";
  #map: Map<string, T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string): T | undefined {
    return this.#maps.get(prefixOf(id))?.get(id);
  }

  /** Takes in one whose id is not in here. */
  add(id: string, value: T): void {
    const prefix = prefixOf(id);
    if (this.#map === undefined || prefix !== this.#prefix) this.#turnTo(prefix);
    this.#map?.set(id, value);
    this.#size++;
  }

  delete(id: string): void {
    const prefix = prefixOf(id);
    const map = this.#maps.get(prefix);
    if (!map?.delete(id)) return;
    this.#size--;
    if (map.size > 0) return;
    this.#maps.delete(prefix);
    if (map === this.#map) this.#map = undefined;
  }

  *values(): Generator<T> {
    for (const map of this.#maps.values()) yield* map.values();
  }

  #turnTo(prefix: string): void {
    let map = this.#maps.get(prefix);
    if (map === undefined) {
      map = new Map();
      this.#maps.set(prefix, map);
    }
    this.#prefix = prefix;
    this.#map = map;
  }
}

function prefixOf(id: string): string {
  return id.slice(0, prefixLength);
}
