/** A promise, and what settles it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** A promise that never settles. */
export const never = (): Promise<never> => new Promise(() => {});
