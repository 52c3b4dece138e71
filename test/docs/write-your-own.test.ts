import { inboxContract } from "@reporthook/testing";
import { describe, test } from "vitest";
import { TableInbox } from "./write-your-own/table-inbox.ts";

describe("the inbox of docs/write-your-own.md", () => {
  const { guarantees } = new TableInbox();
  for (const { name, run } of inboxContract({ open: () => new TableInbox(), guarantees })) {
    test(name, run);
  }
});
