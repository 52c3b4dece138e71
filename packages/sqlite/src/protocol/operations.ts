import type {
  ActQuery,
  ActStep,
  Entry,
  EraseQuery,
  ErrorsQuery,
  Inbox,
  InboxQuery,
  Pruned,
  RequestStore,
} from "@reporthook/core";
import type { SomeOfGroup } from "@reporthook/core/store";

/** Methods that the thread carries out as they are, without their promises. */
type Answered<Port, Name extends keyof Port & string, Prefix extends string = ""> = {
  [One in Name as `${Prefix}${One}`]: NonNullable<Port[One]> extends (
    ...given: infer Given
  ) => Promise<infer Answer>
    ? (...given: Given) => Answer
    : never;
};

/** The queries and actions that the thread carries out, each once. */
export interface Operations
  extends Answered<
      Inbox,
      | "receivers"
      | "get"
      | "counts"
      | "summary"
      | "facts"
      | "notes"
      | "keepNotes"
      | "acts"
      | "keepTime"
    >,
    Answered<RequestStore, keyof RequestStore, "requests."> {
  health(): void;
  close(): void;
  list: Steps<InboxQuery, { readonly entries: Entry[] }, ListPosition>;
  act: Steps<ActQuery, ActStep, ActPosition>;
  errors: Steps<ErrorsQuery, { readonly groups: SomeOfGroup[] }, ErrorsPosition>;
  erase: Steps<EraseQuery, { readonly count: number }, ErasePosition>;
  prune: Steps<number, { readonly pruned: Pruned }, true>;
  /** Counts all that pruning would do. */
  foresee(now: number): Pruned;
}

/** A query, or an action that runs once. */
export type ThreadCall = {
  [Name in keyof Operations]: {
    readonly ask: Name;
    readonly given: Readonly<Parameters<Operations[Name]>>;
  };
}[keyof Operations];

/** One step of an operation, from a position on, null at first: its result, and where the next one begins; null at the end. */
type Steps<Query, Result, Position> = (
  query: Query,
  from: Position | null,
) => Result & { readonly next: Position | null };

/** The operations that take several steps: the thread stores between two of them. */
export type Stepped = "list" | "act" | "errors" | "erase" | "prune";

/** A position in a list: after an id, with at most so many more. */
export interface ListPosition {
  readonly after: string;
  readonly left: number;
}

/** A position among the deliveries that an act may concern: the last id, and the number of the act in the log. */
export interface ActPosition {
  readonly id: string;
  /** Null until it has changed something. */
  readonly number: number | null;
}

/** A position among the deliveries with an error. */
export interface ErrorsPosition {
  readonly receiver: number;
  readonly error: string;
  readonly id: string;
}

/** A position among the deliveries that may be erased: the range that is looked at, the last id, and the number in the log. */
export interface ErasePosition extends ActPosition {
  readonly range: number;
}
