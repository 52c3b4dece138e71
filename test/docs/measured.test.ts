import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ratios, show, spreadOf } from "../../bench/statistics.ts";

interface Found {
  readonly name: string;
  readonly groups: readonly {
    readonly name: string;
    readonly subjects: readonly {
      readonly label: string;
      readonly samples: readonly { readonly perSecond: number }[];
    }[];
  }[];
}

const fileOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const report = JSON.parse(readFileSync(fileOf("bench/report.json"), "utf8")) as readonly Found[];

/** A number in a page, with its range or without. */
const number = String.raw`[\d.]+(?: \([\d.]+–[\d.]+\))?`;

/** A sentence of a page with numbers in it; null leaves what is there. */
function sentence(parts: TemplateStringsArray, ...values: readonly (string | null)[]) {
  const fixed = parts.map((part) => {
    const escaped = part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return `(${escaped.replace(/\s+/g, "\\s+")})`;
  });
  const pattern = new RegExp(fixed.join(`(${number})`));
  return (page: string): string => {
    const found = pattern.exec(page);
    if (found === null) throw new Error(`the page has no sentence “${parts.join("…")}”`);
    const written = found.slice(1).map((text, at) => (at % 2 ? (values[at >> 1] ?? text) : text));
    return page.replace(found[0], written.join(""));
  };
}

/** How much of one there is for one of the other in the oldest Node that was measured. */
function ratio(place: string, label: string, base: string): readonly number[] | null {
  const [name, group] = place.split("/");
  const groups = report.filter((one) => one.name === name).flatMap((one) => one.groups);
  const subjects = groups.find((one) => one.name === group)?.subjects ?? [];
  const [mine, other] = [label, base].map((of) =>
    subjects.find((subject) => subject.label === of)?.samples.map(({ perSecond }) => perSecond),
  );
  return mine?.length && other?.length ? ratios(mine, other) : null;
}

function median(values: readonly number[] | null, digits = 2): string | null {
  return values && spreadOf(values).median.toFixed(digits);
}

const of = (benchmark: string, host: string, inbox: string) =>
  median(ratio(`${benchmark}/${host}`, `${host} + ${inbox}`, `${host}, bare`));
const queue = (engine: string, working: boolean) => {
  const [name, suffix] = working ? ["working", ", working"] : ["acknowledging", ""];
  const base = `by hand, ${engine}${suffix}`;
  return median(ratio(`queues/${engine}-${name}`, `express + ${engine}${suffix}`, base));
};
const million = (engine: string) => {
  const [many, few] = ["1,000,000", "1,000"].map((count) => `${engine}, ${count} waiting`);
  const values = ratio(`growth/waiting-${engine}`, many ?? "", few ?? "");
  return values && show(spreadOf(values), 2);
};
const [acknowledged, sustained] = ["acknowledge", "sustained"] as const;
const byHand = ratio("acknowledge/node:http", "node:http + sqlite", "one INSERT by hand");

const sentences = {
  "docs/inboxes.md": [
    sentence`answers 200: Express ${of(acknowledged, "express", "sqlite")}, Koa ${of(acknowledged, "koa", "sqlite")}, Hono ${of(acknowledged, "hono", "sqlite")}, \`node:http\` ${of(acknowledged, "node:http", "sqlite")}. It is ${median(byHand, 1)} times as fast`,
    sentence`in the same process: Express ${of(sustained, "express", "sqlite")}, Hono ${of(sustained, "hono", "sqlite")}, \`node:http\` ${of(sustained, "node:http", "sqlite")}.`,
    sentence`\`await queue.add()\`: ${queue("redis", false)} on Redis, ${queue("postgres", false)} on PostgreSQL.`,
    sentence`process: ${queue("redis", true)} on Redis, ${queue("postgres", true)} on PostgreSQL.`,
    sentence`acknowledged, Express ${of(acknowledged, "express", "memory")}, Koa ${of(acknowledged, "koa", "memory")}, Hono ${of(acknowledged, "hono", "memory")}, \`node:http\` ${of(acknowledged, "node:http", "memory")}. Acknowledged, verified and handled: Express ${of(sustained, "express", "memory")}, Hono ${of(sustained, "hono", "memory")}, \`node:http\` ${of(sustained, "node:http", "memory")}.`,
  ],
  "docs/scaling.md": [
    sentence`waiting it was ${million("redis")} times as fast as with a thousand. PostgreSQL's indexes grow: ${million("postgres")}.`,
  ],
};

test.each(Object.entries(sentences))("the page %s has the last figures", async (page, all) => {
  const written = all.reduce((text, write) => write(text), readFileSync(fileOf(page), "utf8"));
  await expect(written).toMatchFileSnapshot(fileOf(page));
});
