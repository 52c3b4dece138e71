/** A fault planted by name: what a function or a constant of one file does instead. */
export interface Planted {
  /** The name of a function, a method or a constant; one definition in the file has it. */
  readonly of: string;
  /** The new body, or the new value. */
  readonly becomes: string;
}

/**
 * The code of a file with a fault in it.
 *
 * @throws Error unless exactly one function or constant has the name
 */
export function plant(code: string, { of, becomes }: Planted): string {
  const name = of.replaceAll(/[$.*+?^{}()|[\]\\]/g, "\\$&");
  const constant = new RegExp(`^((?:export )?const ${name}(?:: [^=]+)? = )[^;]+;`, "gm");
  const lines = code.split("\n");
  const bodies = lines.flatMap((line, at) => {
    const head = new RegExp(`^(\\s*)(?:(?:export|async|static|get|function) )*${name}(?:<.*>)?\\(`);
    const indent = head.exec(line)?.[1];
    if (indent === undefined) return [];
    const opens = lines.findIndex((each, index) => index >= at && /[{;]$/.test(each));
    // A call of it ends like a statement.
    if (!lines[opens]?.endsWith("{")) return [];
    const closes = lines.findIndex((each, index) => index > opens && each === `${indent}}`);
    return [{ opens, closes }];
  });
  const values = [...code.matchAll(constant)];
  if (bodies.length + values.length !== 1) {
    throw new Error(`${bodies.length + values.length} functions or constants are named ${of}`);
  }
  const [body] = bodies;
  if (body === undefined) return code.replace(constant, (_, start) => `${start}${becomes};`);
  return [...lines.slice(0, body.opens + 1), becomes, ...lines.slice(body.closes)].join("\n");
}
