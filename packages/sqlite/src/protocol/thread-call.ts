import type {
  ActQuery,
  ActsQuery,
  EraseQuery,
  ErrorsQuery,
  InboxQuery,
  RequestQuery,
  StoredRequest,
  SummaryQuery,
  TimeMark,
} from "@reporthook/core";
import type { ErasePosition, ErrorsPosition } from "./steps.ts";

/** Texts to keep, by key; null deletes one. */
export type KeptNotes = Readonly<Record<string, string | null>>;

/** A query, or an action that runs once. */
export type ThreadCall =
  | { readonly ask: "health" }
  | { readonly ask: "close" }
  /** They come with the reply. */
  | { readonly ask: "counts" }
  | { readonly ask: "get"; readonly id: string; readonly receiver: string | undefined }
  | { readonly ask: "list"; readonly query: InboxQuery }
  | { readonly ask: "summary"; readonly query: SummaryQuery }
  /** One step of an act, on entries with ids beyond `after`; `number` is that of the act in the log, null at first. */
  | {
      readonly ask: "act";
      readonly query: ActQuery;
      readonly after: string;
      readonly number: number | null;
    }
  | { readonly ask: "acts"; readonly query: ActsQuery }
  /** One step of grouping errors, beyond a position; null at first. */
  | {
      readonly ask: "errors";
      readonly query: ErrorsQuery;
      readonly from: ErrorsPosition | null;
    }
  | { readonly ask: "erase"; readonly query: EraseQuery; readonly from: ErasePosition | null }
  | { readonly ask: "facts"; readonly receiver: string }
  | { readonly ask: "notes"; readonly receiver: string; readonly prefix: string }
  | { readonly ask: "keepNotes"; readonly receiver: string; readonly notes: KeptNotes }
  | { readonly ask: "prune"; readonly now: number; readonly dryRun: boolean }
  | { readonly ask: "keepTime"; readonly mark: TimeMark }
  | { readonly ask: "requests"; readonly call: RequestCall };

/** A call of the part of the inbox that keeps requests. */
export type RequestCall =
  | { readonly do: "add"; readonly request: StoredRequest }
  | { readonly do: "get"; readonly id: string; readonly receiver: string | undefined }
  | { readonly do: "replace"; readonly read: StoredRequest; readonly next: StoredRequest | null }
  | { readonly do: "list"; readonly query: RequestQuery }
  | {
      readonly do: "due";
      readonly receiver: string;
      readonly until: number;
      readonly limit: number;
    };
