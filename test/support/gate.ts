import { deferred } from "@reporthook/testing/internals";

/** A promise, and what settles it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = deferred();
  return { opened: promise, open: () => resolve() };
}

/** A promise that never settles. */
export const never = (): Promise<never> => new Promise(() => {});
