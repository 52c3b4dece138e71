import { ReporthookError } from "@reporthook/core";

/** The error of an inbox that can't be used. */
export function inboxFailed(message: string, cause?: unknown): ReporthookError {
  return new ReporthookError("inbox_failed", message, cause === undefined ? {} : { cause });
}

/** The error of a thread that has failed. */
export function threadFailed(cause: unknown): ReporthookError {
  // Node asks for it in each new thread.
  const why = String(cause).includes("uv_cwd")
    ? "the working directory was removed: restart the app in one that stays"
    : String(cause);
  return inboxFailed(`The inbox's thread failed: ${why}`, cause);
}
