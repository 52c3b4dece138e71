/** Keeps the process alive while `work` is pending, like an open socket. */
export async function keepAlive<T>(work: Promise<T>): Promise<T> {
  const alive = setTimeout(() => {}, 2 ** 31 - 1);
  try {
    return await work;
  } finally {
    clearTimeout(alive);
  }
}
