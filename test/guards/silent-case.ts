import { type Inbox, memoryInbox, type Receiver, type ReceiverOptions } from "@reporthook/core";
import type { Emulator } from "@reporthook/emulator";

/** A reason why a genuine notification is not handled, and the line that the default logger has to write of it. */
export interface SilentCase {
  readonly when: string;
  readonly options?: () => Partial<ReceiverOptions>;
  /** The sender's changes to a genuine notification. */
  readonly sent?: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
    readonly query?: string;
    readonly unsigned?: true;
    /** No length is told ahead. */
    readonly streamed?: true;
    readonly cutOff?: true;
  };
  readonly before?: (emulator: Emulator, receiver: Receiver) => unknown;
  /** How it reaches the receiver, if not by its `fetch`. */
  readonly deliver?: (receiver: Receiver, request: Request) => Promise<unknown>;
  readonly says: string;
  /** A text that the log line has to contain. */
  readonly shows?: string;
  /** It does not happen at each notification. */
  readonly rare?: true;
}

/** Fails as it is called. */
export function fail(): never {
  throw new Error("not today");
}

/** A memory inbox, but for these parts. */
export function inboxWith(parts: Partial<Inbox>): Inbox {
  return Object.assign(memoryInbox(), parts);
}
