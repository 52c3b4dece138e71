import { inboxContract } from "@reporthook/testing";
import { describe, test } from "vitest";
import { TableInbox } from "./write-your-own/table-inbox.ts";

describe("the inbox of docs/write-your-own.md", () => {
  const open = () => new TableInbox();
  const { guarantees } = new TableInbox();
  for (const { name, run } of inboxContract({ open, guarantees, keepsRequests: false })) {
    test(name, run);
  }
});
