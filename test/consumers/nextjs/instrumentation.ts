// What the last process left waiting is handled at once, not with the first notification.
export async function register(): Promise<void> {
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return;
  const { receiver } = await import("./receiver");
  await receiver().start();
}
