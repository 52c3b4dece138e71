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

/** A query, or an action that runs once. */
export type ThreadCall =
  | { readonly ask: "health" }
  | { readonly ask: "close" }
  /** They come with the reply. */
  | { readonly ask: "counts" }
  | { readonly ask: "get"; readonly id: string; readonly receiver: string | undefined }
  | { readonly ask: "list"; readonly query: InboxQuery }
  | { readonly ask: "summary"; readonly query: SummaryQuery }
  | { readonly ask: "oldestWaiting"; readonly receiver: string }
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
