/** Throws a `TypeError` that names what is given and is no option of `whose`; `path` is where in its options it stands. */
export function onlyKnown(
  whose: string,
  given: object,
  names: readonly string[],
  path: string = "",
): void {
  for (const name of Object.keys(given)) {
    if (names.includes(name)) continue;
    throw new TypeError(`${whose}: ${path}${name} is no option; these are: ${names.join(", ")}`);
  }
}
