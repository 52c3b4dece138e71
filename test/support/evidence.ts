import { appendFileSync } from "node:fs";

/** Numbers by what they count, such as `{ kills: 5 }`. */
export type Numbers = Readonly<Record<string, number>>;

/** The results of a run, for docs/evidence.md. */
export interface Evidence {
  /** A row of the page. */
  readonly kind: string;
  readonly did: Numbers;
  /** The number of faults of each kind, also when it is 0. */
  readonly wrong: Numbers;
  /** A name for the row's list. */
  readonly name?: string | undefined;
  readonly at: string;
  readonly node: string;
}

/** Adds what a test did to the file that EVIDENCE names; `scripts/evidence.ts` makes docs/evidence.md of it. */
export function evidence(kind: string, did: Numbers, wrong: Numbers, name?: string): void {
  const file = process.env["EVIDENCE"];
  if (!file) return;
  const line: Evidence = {
    kind,
    did,
    wrong,
    name,
    at: new Date().toISOString(),
    node: process.versions.node,
  };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}
