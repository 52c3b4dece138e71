/** Throws unless both have the same values; the order of keys does not matter. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [left, right] = [textOf(actual), textOf(expected)];
  if (left !== right) throw new Error(`${what}: expected ${right}, got ${left}`);
}

/** Throws unless the parts of this name are these, in this order. */
export function sameEach<Name extends string>(
  actual: readonly { readonly [name in Name]?: unknown }[],
  name: Name,
  expected: readonly unknown[],
  what: string,
): void {
  same(
    actual.map((one) => one[name]),
    expected,
    what,
  );
}

/** Throws unless `condition` holds. */
export function truly(condition: boolean, what: string): void {
  if (!condition) throw new Error(`Not so: ${what}`);
}

/** Throws a `TypeError` unless it is an object, which may have more members than are known here. */
export function assertObject(name: string, given: unknown): void {
  if (typeof given !== "object" || given === null) throw new TypeError(`${name} must be an object`);
}

/** Throws unless the promise rejects with an error of this code. */
export async function rejects(promise: Promise<unknown>, code: string): Promise<void> {
  const outcome = await promise.then(
    () => "it resolved",
    (error: { readonly code?: unknown }) => error?.code,
  );
  same(outcome, code, "The code it rejects with");
}

/** Waits until `check` holds; it gives up when `patienceMs` of real time are over. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  what: string,
  patienceMs: number,
): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`Not within ${patienceMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** The promise, or a rejection when `patienceMs` of real time are over. */
export async function patiently<T>(
  promise: Promise<T>,
  what: string,
  patienceMs: number,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new Error(`Not within ${patienceMs} ms: ${what}`);
    timer = setTimeout(() => reject(error), patienceMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function textOf(value: unknown): string {
  if (value === undefined) return "undefined";
  return JSON.stringify(value, (_key, part: unknown) => {
    if (ArrayBuffer.isView(part)) {
      return [...new Uint8Array(part.buffer, part.byteOffset, part.byteLength)];
    }
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
