import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inboxContract } from "@reporthook/core/testing";
import { afterAll, test } from "vitest";
import { sqliteInbox } from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "reporthook-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
const { guarantees } = sqliteInbox(join(folder, "none.db"));
const open = () => sqliteInbox(join(folder, `${++files}.db`));
for (const { name, run } of inboxContract({ open, guarantees })) test(name, run, 30_000);
