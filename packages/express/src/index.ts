/** Placeholder. */
export const reporthook = (): void => {};
