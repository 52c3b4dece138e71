import type { Benchmark, Group, Subject } from "../benchmark.ts";
import { figures, overHttp, type Variant } from "../http.ts";
import type { InboxName } from "../inboxes.ts";
import { numberText } from "../statistics.ts";

const { perSecond, p50, p99, rss, cpu, generator } = figures;
const sqlite = { host: "node:http", inbox: "sqlite", work: true } as const;
const million = 1_000_000;
// A round adds tens of thousands: an inbox that holds fewer is filled again for each round.
const fewest = 100_000;

function receivers(): Group {
  const of = (count: number): Variant => ({
    ...sqlite,
    receivers: count,
    label: `${count} ${count === 1 ? "receiver" : "receivers"}`,
  });
  return { name: "receivers", subjects: [1, 10, 100].map(of).map(overHttp) };
}

function bodies(): Group {
  const sizes = { "0.6 kB": 600, "10 kB": 10_000, "200 kB": 200_000 };
  const of = (bare: boolean): Subject[] =>
    Object.entries(sizes).map(([size, bodyBytes]) =>
      overHttp({
        ...(bare ? { host: "node:http", inbox: "none" } : sqlite),
        bodyBytes,
        label: `${size}${bare ? ", bare" : ""}`,
        ...(!bare && { base: `${size}, bare` }),
      }),
    );
  return { name: "bodies", subjects: [...of(true), ...of(false)] };
}

/** So many are there before, and those that are many stay over all rounds. */
function before(what: "handled" | "waiting", inbox: InboxName, counts: readonly number[]): Group {
  const variant = what === "handled" ? sqlite : ({ host: "express", inbox } as const);
  const of = (count: number): Variant => ({
    ...variant,
    [what]: count,
    stays: count >= fewest,
    label: `${inbox}, ${numberText(count, 0)} ${what}`,
  });
  const engine = inbox === "redis" || inbox === "postgres" ? { engine: inbox } : {};
  return { name: `${what}-${inbox}`, ...engine, subjects: counts.map(of).map(overHttp) };
}

/** The cost of more receivers, larger bodies and more deliveries. */
export const growth: Benchmark = {
  name: "growth",
  title: "How cost grows",
  about:
    "More receivers on one file, larger bodies, more that was handled and is kept: `node:http` + SQLite, acknowledged, verified and handled. More that waits: Express, acknowledged only, while nobody works. Each is compared with the first of its kind, and a body with the bare server that reads and parses it.",
  figures: [perSecond, p50, p99, rss, cpu, generator],
  maxRounds: 3,
  groups: [
    receivers(),
    bodies(),
    before("handled", "sqlite", [1_000, fewest, million]),
    before("waiting", "memory", [1_000, million]),
    before("waiting", "sqlite", [1_000, million]),
    before("waiting", "redis", [1_000, million]),
    before("waiting", "postgres", [1_000, million]),
  ],
};
