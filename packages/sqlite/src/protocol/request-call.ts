import type { RequestQuery, StoredRequest } from "@reporthook/core";

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
