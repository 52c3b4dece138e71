/** Throws a TypeError if the options given to `whose` are no object, or one of them has no such name; it quotes no value. */
export function checkOptions(whose: string, given: unknown, names: readonly string[]): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const kind = given === null ? "null" : Array.isArray(given) ? "an array" : `a ${typeof given}`;
    throw new TypeError(`${whose} takes an object of options, not ${kind}`);
  }
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    throw new TypeError(`${whose} has no option ${name}; its options are ${names.join(", ")}`);
  }
}
