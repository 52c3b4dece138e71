import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { expect, test } from "vitest";
import { refusalWarnings } from "../../packages/core/src/observe/refusals.ts";
import { doneToAll, doneToOne } from "../../packages/dashboard/src/actions.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A line that can be logged, as "message (level)". */
function linesOfTheCode(): string[] {
  const folder = join(root, "packages");
  const refusals = Object.values(refusalWarnings).map((text) => `${text} (warn, once a minute)`);
  const others = readdirSync(folder).flatMap((name) => {
    const src = join(folder, name, "src");
    return readdirSync(src, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .flatMap((file) => linesOf(readFileSync(join(src, file), "utf8")));
  });
  const actions = [doneToOne, doneToAll].flatMap((lines) => Object.values(lines));
  return [...refusals, ...actions.map((text) => `${text} (info)`), ...others];
}

function linesOf(code: string): string[] {
  const levels = new Map(["warn", "error", "info"].map((level) => [`logger.${level}`, level]));
  // A constant, a private field, or one of the functions in the private field #lines.
  const throttled =
    /(const |this\.)?(#?\w+)(?: =|:) oncePerMinute(?:Each)?\(\w+(?:\.\w+)*, (?:\w+\.)*logger\.(\w+)(?:, "\w+")?\)/g;
  for (const [, kind, name = "", level] of code.matchAll(throttled)) {
    const called = kind === undefined ? `#lines.${name}` : name;
    levels.set(called, `${level}, once a minute`);
  }
  return [...levels].flatMap(([name, level]) => {
    const before = name.startsWith("#") ? "this\\." : "(?<![\\w#])";
    const calls = code.matchAll(new RegExp(`${before}${name}(?:\\?\\.)?\\(`, "g"));
    return [...calls].flatMap(({ 0: call, index }) => {
      const argument = lastArgument(code.slice(index + call.length));
      const constant = code.slice(0, index).match(/const message = ("[^"]*");\n.*$/)?.[1];
      const message = argument === "message" ? constant : argument;
      // A parameter of the caller.
      if (message === undefined) return [];
      const texts = [...message.matchAll(/"((?:[^"\\]|\\.)*)"|`([^`]*)`/g)];
      expect(texts, `the message of ${name}(${message}) is no literal`).not.toEqual([]);
      return texts.map(([, plain, template = ""]) => {
        return `${plain ?? template.replaceAll(/\$\{[^}]*\}/g, "…")} (${level})`;
      });
    });
  });
}

/** The last argument of a call whose opening parenthesis was just read. */
function lastArgument(rest: string): string {
  let depth = 0;
  let start = 0;
  let last = "";
  for (const { 0: token, index } of rest.matchAll(
    /"(?:[^"\\]|\\.)*"|`[^`]*`|\/\/.*|[([{]|[)\]}]|,/g,
  )) {
    const ends = depth === 0 && (token === "," || token === ")");
    if (ends) {
      const argument = rest.slice(start, index).trim();
      last = argument === "" ? last : argument;
      start = index + 1;
      if (token === ")") return last;
    } else if ("([{".includes(token)) depth++;
    else if (")]}".includes(token)) depth--;
  }
  return last;
}

function linesOfTheDocs(): string[] {
  const text = readFileSync(join(root, "docs/logs.md"), "utf8");
  const rows = text.matchAll(/^- `([^`]+)` \(((?:warn|error|info)[^)]*)\)$/gm);
  return [...rows].map(([, message, level]) => `${message} (${level})`);
}

test("docs/logs.md lists every message of the code, and no other", () => {
  const documented = linesOfTheDocs();
  expect(documented.length).toBeGreaterThan(25);
  expect(new Set(documented).size).toBe(documented.length);
  expect([...new Set(linesOfTheCode())].sort()).toEqual(documented.sort());
});

test("a logger with info is given one line for each decision, found by the delivery's id", async () => {
  const lines: [level: string, message: string, id: unknown][] = [];
  const write =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      lines.push([level, message, fields["id"]]);
    };
  const emulator = createEmulator();
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    logger: { warn: write("warn"), error: write("error"), info: write("info") },
    unsigned: "hold",
    retry: { minMs: 1, maxMs: 1 },
  });
  receiver.on("report.complete", (_event, { attempt }) => {
    if (attempt === 1) throw new Error("not yet");
  });
  const send = async (init: RequestInit): Promise<unknown> => {
    const answer = await receiver.fetch(new Request("https://app.example/hook", init));
    const { id } = (await answer.json()) as { readonly id?: string };
    await receiver.idle({ timeoutMs: 60_000 });
    return id;
  };
  const of = (id: unknown): string[] =>
    lines.filter((line) => line[2] === id).map(([level, message]) => `${level}: ${message}`);

  const genuine = emulator.notification("report.complete");
  const id = await send(genuine);
  expect(of(id)).toEqual([
    "info: Notification acknowledged.",
    "info: Delivery verified.",
    "warn: Handler failed; the delivery will be retried.",
    "info: Delivery handled.",
  ]);
  expect(await send(genuine)).toBe(id);
  expect(of(id).slice(4)).toEqual(["info: Notification acknowledged."]);

  const forged = await send(emulator.notification("report.complete", { signature: "invalid" }));
  expect(of(forged)).toContain("info: Delivery rejected.");
  const unsigned = await send(emulator.notification("report.complete", { signature: "none" }));
  expect(of(unsigned)).toEqual([
    "info: Delivery held on arrival.",
    "info: Notification acknowledged.",
  ]);
  await receiver.fetch(new Request("https://app.example/hook"));
  expect(lines.at(-1)?.slice(0, 2)).toEqual(["info", "Notification refused."]);

  await receiver.close();
});
