import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, createReceiver } from "@reporthook/core";
import { messages as coreMessages, refusalWarnings } from "@reporthook/core/internals";
import { dashboardMessages } from "@reporthook/dashboard/internals";
import { createEmulator } from "@reporthook/emulator";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const docs = join(root, "docs/logs.md");

/** The tables of messages, in the order of their sections. */
const tables = [
  "core/src/log-messages.ts",
  "bullmq/src/log-messages.ts",
  "dashboard/src/log-messages.ts",
];

interface Message {
  readonly section: string;
  readonly name: string;
  readonly text: string;
  /** As `warn, once a minute`. */
  readonly level: string;
  readonly explanation: string;
}

/** Reads the tables; the comment of an entry begins with its level in brackets. */
function readTables(): {
  readonly messages: readonly Message[];
  readonly intros: ReadonlyMap<string, string>;
} {
  const messages: Message[] = [];
  const intros = new Map<string, string>();
  for (const table of tables) {
    const text = readFileSync(join(root, "packages", table), "utf8");
    const object = /export const (\w+)/.exec(text)?.[1];
    let section = "";
    const parts = text.matchAll(
      /^ {2}\/\/ (?:## )?(.+)$|^ {2}\/\*\*([\s\S]*?)\*\/\s+(\w+):\s+"([^"]+)",$/gm,
    );
    for (const [whole, title = "", comment = "", name = "", message = ""] of parts) {
      if (whole.startsWith("  // ## ")) section = title;
      else if (title !== "") intros.set(section, title);
      else {
        const prose = comment
          .replace(/\n \* ?/g, " ")
          .replace(/\s+\* /g, " ")
          .replace(/\s+/g, " ")
          .trim();
        const [, level = "", explanation = ""] = /^\(([^)]+)\) (.*)$/.exec(prose) ?? [];
        expect(level, `${table}: the comment of ${name} begins with its level`).not.toBe("");
        messages.push({ section, name: `${object}.${name}`, text: message, level, explanation });
      }
    }
  }
  return { messages, intros };
}

/** The sections of docs/logs.md about the messages. */
function generated(): string {
  const { messages, intros } = readTables();
  const sections = [...new Set(messages.map(({ section }) => section))];
  return sections
    .map((section) => {
      const entries = messages
        .filter((message) => message.section === section)
        .map(({ text, level, explanation }) => `- \`${text}\` (${level})\n${wrapped(explanation)}`);
      const intro = intros.get(section);
      const after = section === "The inbox" ? `\n\n${bullmq}` : "";
      return `## ${section}\n\n${intro === undefined ? "" : `${intro}\n\n`}${entries.join("\n")}${after}\n`;
    })
    .join("\n");
}

const bullmq = `The BullMQ inbox also logs, once at the start, each server setting that may lose acknowledged deliveries, with its value and the
value to set: [what the server has to be told](../packages/bullmq/README.md#what-the-server-has-to-be-told).`;

/** Lines of at most 120 characters, indented as in a list. */
function wrapped(text: string): string {
  const lines: string[] = [];
  let line = " ";
  // A link stays in one line.
  for (const word of text.match(/\[[^\]]*\]\([^)]*\)\S*|\S+/g) ?? []) {
    if (line.length + 1 + word.length > 120) {
      lines.push(line);
      line = " ";
    }
    line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}

/** The messages that the code logs, as "text (level)". */
function linesOfTheCode(): string[] {
  const texts = new Map(readTables().messages.map(({ name, text }) => [name, text]));
  const folder = join(root, "packages");
  const refusals = Object.values(refusalWarnings).map(
    (name) => `${coreMessages[name]} (warn, once a minute)`,
  );
  const others = readdirSync(folder).flatMap((name) => {
    const src = join(folder, name, "src");
    return readdirSync(src, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .flatMap((file) => linesOf(readFileSync(join(src, file), "utf8"), texts));
  });
  const { failed, ...actions } = dashboardMessages;
  return [...refusals, ...Object.values(actions).map((text) => `${text} (info)`), ...others];
}

function linesOf(code: string, texts: ReadonlyMap<string, string>): string[] {
  const calls = code.matchAll(/\b(logger|oncePerMinute)\.(warn|error|info)(?:\?\.)?\(/g);
  return [...calls].flatMap(({ 0: call, 1: by, 2: level, index }) => {
    const message = secondArgument(code.slice(index + call.length));
    // A parameter of the caller.
    if (message === "message") return [];
    const used = message.match(/\b\w*[mM]essages\.\w+/g) ?? [];
    expect(used, `the message of ${call}${message}) is in a table`).not.toEqual([]);
    const often = by === "logger" ? "" : ", once a minute";
    return used.map((entry) => `${texts.get(entry)} (${level}${often})`);
  });
}

/** The second argument of a call whose opening parenthesis was just read. */
function secondArgument(rest: string): string {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of rest.matchAll(
    /"(?:[^"\\]|\\.)*"|`[^`]*`|\/\/.*|[([{]|[)\]}]|,/g,
  )) {
    const ends = depth === 0 && (token === "," || token === ")");
    if (ends) {
      found.push(rest.slice(start, index).trim());
      start = index + 1;
      if (found.length === 2) break;
    } else if ("([{".includes(token)) depth++;
    else if (")]}".includes(token)) depth--;
  }
  return found[1] ?? "";
}

test("docs/logs.md is generated from the tables of messages", async () => {
  const text = readFileSync(docs, "utf8");
  const head = text.slice(0, text.indexOf("## Decisions"));
  await expect(head + generated()).toMatchFileSnapshot(docs);
});

test("the tables have every message that the code logs, at its level, and no other", () => {
  const listed = readTables().messages.map(({ text, level }) => `${text} (${level})`);
  expect(listed.length).toBeGreaterThan(25);
  expect(new Set(listed).size).toBe(listed.length);
  expect([...new Set(linesOfTheCode())].sort()).toEqual([...listed].sort());
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
  expect(lines.at(-1)?.slice(0, 2)).toEqual(["info", coreMessages.refused]);

  await receiver.close();
});
