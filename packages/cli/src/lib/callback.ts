import { createReceiver, memoryInbox } from "@reporthook/core";
import { type Command, InvalidArgumentError, Option } from "commander";
import { UsageError } from "./errors.ts";
import { receiverOption, usualReceiver } from "./options.ts";

/** The options of commands that sign a URL. */
export interface CallbackChoice {
  /** Any JSON value, in an object: commander takes a null for no value. */
  readonly context?: { readonly value: unknown };
  /** Signed in its place, if there is a secret. */
  readonly recorded?: unknown;
  readonly receiver: string;
}

/** The variable of the secret, the only source of it. */
export const secretVariable = "REPORTS_CALLBACK_SECRET";

/** Adds `--context` and `--receiver`. */
export function withCallback(command: Command): Command {
  const json = (given: string): CallbackChoice["context"] => {
    try {
      return { value: JSON.parse(given) };
    } catch {
      throw new InvalidArgumentError(`It must be JSON, like '{"customer":"c-1"}'.`);
    }
  };
  const what = `the context in the URL, which is signed with ${secretVariable}`;
  return command
    .addOption(new Option("--context <json>", what).argParser(json))
    .addOption(receiverOption("the receiver that the URL is signed for", usualReceiver));
}

/** The secret of the environment; null without one. */
export function callbackSecret(): string | null {
  return process.env[secretVariable] || null;
}

/**
 * The URL with a callback token, if the environment has a secret; one that has a token is taken as it is.
 *
 * @throws UsageError if a context can't be signed
 */
export async function signUrl(url: string, choice: CallbackChoice): Promise<string> {
  const { context, recorded, receiver } = choice;
  const secret = callbackSecret();
  const hasToken = tokenOf(url) !== "";
  if (context === undefined && (hasToken || secret === null)) return url;
  if (hasToken) {
    throw new UsageError("The URL has a callback_token with its own context: omit --context");
  }
  if (secret === null) {
    throw new UsageError(`Set ${secretVariable} to the app's secret: --context is signed with it`);
  }
  try {
    const signer = createReceiver({
      client: { authorize: () => Promise.reject(new Error("It only signs")) },
      inbox: memoryInbox(),
      name: receiver,
      callback: { secrets: [secret] },
      autostart: false,
      logger: false,
    });
    const signed = context === undefined ? recorded : context.value;
    const signing = signer.callbackUrl(url, { context: signed });
    return await signing.finally(() => signer.close());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = error.message.replace(/^callbackUrl: /, "");
    throw new UsageError(message.replace(/\S*callback\.secrets\[0\]/, secretVariable));
  }
}

/** The callback token of a URL, as a part of its query; empty without one. */
export function tokenOf(url: string): string {
  return /callback_token=[^&#]*/.exec(new URL(url).search)?.[0] ?? "";
}

/** The URL with parts of a query. */
export function withQuery(url: string, ...parts: readonly string[]): string {
  const longer = new URL(url);
  longer.search = [longer.search.slice(1), ...parts].filter((part) => part !== "").join("&");
  return longer.href;
}

/** The URL without a callback token. */
export function unsignedUrl(url: string): string {
  if (tokenOf(url) === "") return url;
  const shorter = new URL(url);
  shorter.searchParams.delete("callback_token");
  return shorter.href;
}
