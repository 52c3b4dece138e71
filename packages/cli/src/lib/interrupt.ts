const signals = ["SIGINT", "SIGTERM"] as const;

/** Runs work that ends early, at a point that suits it, after Ctrl-C or SIGTERM. A second one ends the process. */
export async function interruptible<T>(
  work: (status: { readonly interrupted: boolean }) => Promise<T>,
): Promise<T> {
  const status = { interrupted: false };
  const interrupt = (): void => {
    status.interrupted = true;
    letGo();
  };
  const letGo = (): void => {
    for (const signal of signals) process.removeListener(signal, interrupt);
  };
  for (const signal of signals) process.on(signal, interrupt);
  try {
    return await work(status);
  } finally {
    letGo();
  }
}
