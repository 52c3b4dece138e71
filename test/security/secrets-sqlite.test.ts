import { existsSync, readFileSync } from "node:fs";
import { createReceiver, type Verdict } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import { gate } from "@reporthook/test-support/receiver-setup";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { expect, it } from "vitest";
import { type All, query, until } from "../inboxes/durability/serve.ts";
import { Canaries } from "./secrets/canaries.ts";

// Of these lengths, so that it lies in the page of its row, or in overflow pages.
const lengths = [60, 1_500, 3_000, 4_096];
// Not "invalid": a rejected delivery keeps its signature for a day.
const verdicts: readonly Verdict[] = ["valid", "expired"];
const number = 300;

it("the files of an inbox hold no signature after the verdict and a checkpoint", async () => {
  const path = temporaryPath();
  const canaries = new Canaries();
  const { opened, open } = gate();
  let asked = 0;
  const receiver = createReceiver({
    client: {
      async authorize() {
        await opened;
        return verdicts[asked++ % verdicts.length] as Verdict;
      },
    },
    inbox: sqliteInbox(path),
    callback: { secrets: ["a secret of at least 32 characters"] },
    logger: false,
    ...patient,
    retry: { attempts: 3, minMs: 1, maxMs: 2 },
  });
  // Each attempt makes the row longer: it moves, and what it leaves behind must not tell.
  receiver.on("*", ({ id }) => {
    if (id.charCodeAt(25) % 2 === 0) throw new Error("x".repeat(400));
  });
  const url = canaries.plantUrl(
    await receiver.callbackUrl("http://localhost/hook", { context: { customer: 1 } }),
  );

  for (let sent = 0; sent < number; sent++) {
    const length = lengths[sent % lengths.length] as number;
    const mark = canaries.plant("signature", `SignatureCanary-${sent}-0123456789abcdef`);
    const headers = { "X-svc-authorization": mark.padStart(length, ".") };
    const body = JSON.stringify({ status: "complete", padding: "y".repeat((sent * 37) % 9_000) });
    const answer = await receiver.fetch(new Request(url, { method: "POST", headers, body }));
    expect(answer.status).toBe(200);
  }
  expect(foundIn(path, canaries)).toEqual(["signature"]);
  open();
  await receiver.idle({ timeoutMs: 30_000 });
  expect(
    query(path, (all) => all("SELECT count(*) AS n FROM delivery WHERE signature IS NOT NULL")),
  ).toEqual([{ n: 0 }]);
  // Two checkpoints exclude each other: SQLite refuses the second one at once, and the inbox makes its own.
  await until(() => query(path, isCheckpointed), "a checkpoint of the whole log");
  expect(foundIn(path, canaries)).toEqual([]);
  await receiver.close();
  expect(foundIn(path, canaries)).toEqual([]);
});

function isCheckpointed(all: All): boolean {
  return all("PRAGMA wal_checkpoint(TRUNCATE)")[0]?.["busy"] === 0;
}

function foundIn(path: string, canaries: Canaries): string[] {
  const files = [path, `${path}-wal`, `${path}-shm`].filter((file) => existsSync(file));
  return [...new Set(files.flatMap((file) => canaries.foundIn(readFileSync(file))))];
}
