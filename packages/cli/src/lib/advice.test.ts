import { execFileSync } from "node:child_process";
import { ServiceError } from "@reporthook/core";
import { expect, it } from "vitest";
import { checkService } from "../doctor/service.ts";
import { commandLine } from "../inbox/source.ts";
import { adviceFor, againLine, startLine } from "./advice.ts";
import type { Exchange } from "./exchange.ts";
import { createTerminal } from "./terminal.ts";

const evil = "http://a.example/?;echo$IFS'evil'|cat&#$(id)`id`*";

/** The words of a line, as a shell splits them. */
function wordsOf(line: string): string[] {
  const printed = execFileSync("sh", ["-c", `printf '%s\\n' ${line}`]);
  return printed.toString().trimEnd().split("\n");
}

function answered(status: number | null, headers: Record<string, string> = {}): Exchange {
  return { status, headers: new Headers(headers), body: "", error: "", cause: "", ms: 1 };
}

it.each([
  ["another address", adviceFor("http://a/", answered(302, { location: evil })).type, evil],
  ["an app that does not answer", adviceFor(evil, answered(null)).type, evil],
  ["the same again", againLine(evil), evil],
  ["an app's start", startLine(evil), `REPORTS_URL=${evil}`],
])("a line for %s has the address as one word", (_, line, word) => {
  expect(wordsOf(line).map((each) => decodeURI(each))).toContain(word);
});

it("the line about a service that is away has its address as one word", async () => {
  const authorize = async (): Promise<never> => {
    throw new ServiceError("service_unreachable", "away", { retryable: true });
  };
  const client = { authorize } as unknown as Parameters<typeof checkService>[0]["client"];
  const { type = "" } = await checkService({ client, baseUrl: evil });
  expect(wordsOf(type)).toContain(evil);
});

it("the command for queues has their prefix as one word", () => {
  const wide = { ...createTerminal(false, {}), columns: 200 };
  const line = commandLine("inbox stats", { inbox: "redis://a", prefix: "a b;c" }, wide);
  expect(wordsOf(line)).toContain("a b;c");
});
