import { createReceiver } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { describeWith, missingProgram } from "@reporthook/test-support/needs";
import { patient } from "@reporthook/test-support/patient";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { beforeAll, describe, expect, it } from "vitest";
import { cli, nodeOnTerminal, programFile } from "./process.ts";

const db = temporaryPath();
/** Clears the screen, sets the title, paints, goes back in the line, turns the direction of text, and begins lines. */
const controls = ["\u001b[2J", "\u001b]0;owned\u0007", "\u009b31m", "\u000b", "\u202e", "\u2028"];
const evil = (mark: string): string => `${mark}${controls.join("")}\n\r\r\u000b\r EVIL\u0000\u007f`;
const steering = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/u;
const noScript = missingProgram("script", "bsdutils");

describe("text that others have written", () => {
  let ids: { delivery: string; request: string };

  beforeAll(async () => {
    const answer = { status: 202, body: evil("answer") };
    const receiver = createReceiver({
      client: { authorize: async () => "valid", requestReport: async () => answer },
      inbox: sqliteInbox(db),
      callback: { secrets: ["0123456789abcdef0123456789abcdef"], url: "https://app.example/hook" },
      logger: false,
      retry: { attempts: 1 },
      ...patient,
    });
    receiver.on("*", () => {
      throw Object.assign(new Error(evil("error")), { name: evil("name") });
    });
    const idempotencyKey = evil("key").replace("\0", "");
    const options = { context: { to: evil("context") }, idempotencyKey, overdueMs: 1 };
    const { id: request } = await receiver.reports.request({ domains: [evil("domain")] }, options);
    // A store may end a text with zero, by which nothing is then found.
    const reportId = evil("report").replaceAll("\u0000", "");
    const body = JSON.stringify({ status: "complete", report_id: reportId });
    const headers = {
      "content-type": "application/json",
      "user-agent": "a\u009bb",
      "x-svc-authorization": "s",
    };
    const sent = new Request("https://app.example/hook", { method: "POST", headers, body });
    const { id: delivery } = (await (await receiver.fetch(sent)).json()) as { id: string };
    await receiver.idle({ timeoutMs: 60_000 });
    await receiver.inbox.release({ reportId }, { by: evil("person") });
    await receiver.idle({ timeoutMs: 60_000 });
    await receiver.close();
    ids = { delivery, request };
  });

  const commands = [
    ["inbox list", "report", () => ["inbox", "list"]],
    ["inbox show", "error", () => ["inbox", "show", ids.delivery]],
    ["inbox errors", "name", () => ["inbox", "errors"]],
    ["inbox acts", "person", () => ["inbox", "acts"]],
    ["inbox stats", "name", () => ["inbox", "stats"]],
    ["reports list", "context", () => ["reports", "list"]],
    ["reports show", "domain", () => ["reports", "show", ids.request]],
  ] as const;

  it.each(commands)("reporthook %s steers no terminal with it", async (_, mark, args) => {
    const { code, out, err } = await cli([...args(), "--db", db]);
    expect([code, err]).toEqual([0, expect.not.stringMatching(steering)]);
    expect(out).toContain(`${mark}\\u001b[2J`);
    expect(out).not.toMatch(steering);
    const json = await cli([...args(), "--db", db, "--json"]);
    expect(json.out.trimEnd()).not.toMatch(/\s*\n/);
    expect(json.out).not.toMatch(steering);
  });

  describeWith(noScript)("on a terminal", () =>
    it.each(commands)("reporthook %s steers no terminal with it, also on one", (_, mark, args) => {
      const command = [programFile(), ...args(), "--db", db];
      const { status, shown } = nodeOnTerminal(command, { columns: 1_000 });
      expect([status, shown]).toEqual([0, expect.stringContaining(mark)]);
      expect(controls.filter((each) => shown.includes(each))).toEqual([]);
      expect(shown.replaceAll("\r\n", "\n")).not.toContain("\r EVIL");
    }),
  );
});
