// Starts the receiver with the process: deliveries of the last process do not wait for the first notification.
export async function register(): Promise<void> {
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return;
  const { receiver } = await import("./receiver");
  await receiver().start();
}
