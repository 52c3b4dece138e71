import type { Inbox } from "@reporthook/core";
import { standingProcess } from "@reporthook/test-support/standing/process";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { inboxContract } from "@reporthook/testing";
import { test } from "vitest";
import { loadDriver } from "./database/driver.ts";
import { sqliteInbox } from "./index.ts";

const patienceMs = 60_000;
const { guarantees } = sqliteInbox(temporaryPath());
const open = () => sqliteInbox(temporaryPath());
const pathOf = ({ identity }: Inbox): string => String(identity).slice("sqlite:".length);
/** As somebody does who edits the file by hand. */
const damage = async (inbox: Inbox, id: string): Promise<void> => {
  const file = loadDriver().open(pathOf(inbox));
  file.exec(`UPDATE delivery SET headers = '{', history = '[1', attempts = 'x' WHERE id = '${id}'`);
  file.close();
};
const standing = new URL("../../../test/support/standing/sqlite.ts", import.meta.url);
const standStill = (inbox: Inbox) => standingProcess(standing, pathOf(inbox));
const options = { open, guarantees, patienceMs, damage, standStill };
// Concurrently: most of their time is spent waiting, for the disk and for leases.
for (const { name, run } of inboxContract(options)) test.concurrent(name, run);
