import { basename } from "node:path";
import {
  type Context,
  type Group,
  type Run,
  type Sample,
  Skipped,
  type Subject,
} from "./benchmark.ts";
import { startEngine } from "./engines.ts";

/** A subject and what was measured of it. */
export interface Found {
  readonly label: string;
  /** The label of what it is compared with. */
  readonly base: string;
  readonly row?: string;
  /** The label of the same subject in the other build. */
  readonly other?: string;
  /** One for each round. */
  readonly samples: readonly Sample[];
}

/** The measurements of a group. */
export interface FoundGroup {
  readonly name: string;
  readonly subjects: readonly Found[];
  /** Why it is not complete. */
  readonly missing?: string;
}

/** Two checkouts that are compared. */
export interface Builds {
  readonly here: string;
  readonly other: string;
}

interface Turn extends Run {
  readonly found: Omit<Found, "samples">;
}

/** Measures a group in turns: forth, back, forth, … With two builds each of our subjects is measured in both, one after the other. */
export async function measureGroup(
  group: Group,
  context: Omit<Context, "atEnd" | "build">,
  builds?: Builds,
): Promise<FoundGroup> {
  const ends: (() => Promise<void>)[] = [];
  const atEnd = (end: () => Promise<void>): void => void ends.unshift(end);
  const turns = group.subjects.flatMap((subject) =>
    turnsOf(subject, group, { ...context, atEnd }, builds),
  );
  const rounds: Sample[][] = [];
  let missing: string | undefined;
  try {
    if (group.engine !== undefined) atEnd(await startEngine(group.engine));
    while (rounds.length < context.rounds) {
      const head = `${rounds.length + 1}/${context.rounds} ${group.name}:`;
      rounds.push(await measureRound(group, turns, head, rounds.length % 2 === 1));
    }
  } catch (error) {
    missing = `${group.name}: ${whyNot(error)}`;
  }
  for (const end of ends) await end();
  const subjects = turns.map(({ found }, at) => ({
    ...found,
    samples: rounds.map((round) => round[at] as Sample),
  }));
  return { name: group.name, subjects, ...(missing !== undefined && { missing }) };
}

async function measureRound(
  { atOnce }: Group,
  turns: readonly Turn[],
  head: string,
  isBack: boolean,
): Promise<Sample[]> {
  const samples = new Map<Turn, Sample>();
  const [first] = turns;
  if (atOnce !== undefined) {
    first?.context.doing(`${head} ${turns.map(({ found }) => found.label).join(", ")}`);
    for (const [at, sample] of (await atOnce(turns)).entries())
      samples.set(turns[at] as Turn, sample);
  }
  for (const turn of isBack ? turns.toReversed() : turns) {
    const { subject, context, found } = turn;
    const name = `${head} ${found.label}`;
    if (atOnce === undefined) {
      context.doing(name);
      samples.set(turn, await subject.measure(context));
    }
    context.progress(`${name}: ${shown(samples.get(turn) as Sample)}`);
  }
  return turns.map((turn) => samples.get(turn) as Sample);
}

function turnsOf(subject: Subject, group: Group, context: Context, builds?: Builds): Turn[] {
  const { label, row, isForeign = false } = subject;
  const base = subject.base ?? group.subjects[0]?.label ?? label;
  const found = { label, base, ...(row !== undefined && { row }) };
  if (builds === undefined || isForeign) return [{ subject, context, found }];
  const inOther = (name: string): string => `${name} (${basename(builds.other)})`;
  const isBaseForeign = group.subjects.find((one) => one.label === base)?.isForeign ?? false;
  const other = inOther(label);
  const theirs = { label: other, base: isBaseForeign ? base : inOther(base) };
  return [
    { subject, context: { ...context, build: builds.here }, found: { ...found, other } },
    { subject, context: { ...context, build: builds.other }, found: theirs },
  ];
}

/** The line that stays after a measurement. */
function shown(sample: Sample): string {
  const [[key, value] = ["", 0]] = Object.entries(sample);
  return `${key} ${value.toPrecision(5)}`;
}

/** Why something was not measured, in one line. Unless it can't run here, the whole run has failed. */
function whyNot(error: unknown): string {
  if (!(error instanceof Skipped)) process.exitCode = 1;
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n", 1)[0] ?? "";
}
