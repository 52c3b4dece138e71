import { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";

/** The error of an inbox that can't be used. */
export function inboxFailed(message: string, cause?: unknown): ReporthookError {
  return new ReporthookError("inbox_failed", message, cause === undefined ? {} : { cause });
}

/** The error of a thread that has failed. */
export function threadFailed(cause: unknown): ReporthookError {
  // Node asks for it in each new thread.
  const text = describe(cause);
  const why = text.includes("uv_cwd")
    ? "the working directory was removed: restart the app in one that stays"
    : text;
  return inboxFailed(`The inbox's thread failed: ${why}`, cause);
}
