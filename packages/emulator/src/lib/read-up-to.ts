import { Buffer } from "node:buffer";

/**
 * Reads at most `limit` bytes of a stream and cancels the rest; `complete` says whether that was all.
 * Aborting `signal` cancels immediately.
 */
export async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  limit: number,
  signal?: AbortSignal,
): Promise<{ bytes: Uint8Array; complete: boolean }> {
  if (!stream) return { bytes: new Uint8Array(), complete: true };
  const reader = stream.getReader();
  // A broken stream also rejects cancel(); the failure appears when it is read.
  const letGo = (): void => void reader.cancel().catch(() => {});
  if (signal?.aborted) letGo();
  signal?.addEventListener("abort", letGo, { once: true });
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    while (size <= limit) {
      const { done, value } = await reader.read();
      if (done) return { bytes: Buffer.concat(chunks), complete: true };
      chunks.push(value);
      size += value.byteLength;
    }
    letGo();
    return { bytes: Buffer.concat(chunks).subarray(0, limit), complete: false };
  } finally {
    signal?.removeEventListener("abort", letGo);
  }
}
