import type { ReceiveResult } from "../http/answer.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import type { Notes } from "../inbox/facts/facts.ts";
import { hourKey } from "../inbox/facts/hours.ts";
import type { Pruned } from "../inbox/retention.ts";
import { hourMs } from "../lib/time/units.ts";

/** The bounds of the histogram of answers, in seconds. */
export const answerBounds: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10];

/** The numbers of a process since its start. */
export interface Numbers {
  /**
   * By name: `accepted`, `duplicate`, `refused/CODE`, `verdict/VERDICT`, `verified`, `handled`, `held/REASON`, `dead/REASON`,
   * `rejected/REASON`, and `deleted/REASON` of the parked ones that retention deleted.
   */
  readonly counts: Readonly<Record<string, number>>;
  /** The answers by the time until they were made, with storing: the number up to each of {@link answerBounds}, then the rest. */
  readonly answers: { readonly buckets: readonly number[]; readonly seconds: number };
}

/** One number, as the metric `reporthook.NAME` shows it. */
export interface Sample {
  readonly name: "deliveries" | "deliveries.deleted" | "verdicts";
  readonly labels: Readonly<Partial<Record<"outcome" | "reason" | "verdict", string>>>;
  readonly value: number;
}

/** The samples of numbers: the same for every tool that measures. */
export function samplesOf({ counts }: Pick<Numbers, "counts">): Sample[] {
  return Object.entries(counts).map(([key, value]): Sample => {
    const [first = "", second] = key.split("/");
    if (second === undefined) return { name: "deliveries", labels: { outcome: first }, value };
    if (first === "refused") return { name: "deliveries", labels: { outcome: second }, value };
    if (first === "verdict") return { name: "verdicts", labels: { verdict: second }, value };
    if (first === "deleted")
      return { name: "deliveries.deleted", labels: { reason: second }, value };
    return { name: "deliveries", labels: { outcome: first, reason: second }, value };
  });
}

/** Counts what happens in this process: an instrument of its receiver. */
export class EventCounters {
  readonly #total: Record<string, number> = {};
  readonly #buckets = new Array<number>(answerBounds.length + 1).fill(0);
  #seconds = 0;
  #hour: Record<string, number> = {};
  #hourNumber = 0;
  #isNew = false;
  /** Notes of hours that may not be kept yet. */
  #pending: Record<string, string> = {};

  answered(result: ReceiveResult, _isSigned: unknown, ms: number): void {
    this.#add("refused" in result ? `refused/${result.refused}` : result.status);
    const seconds = ms / 1_000;
    const at = answerBounds.findIndex((bound) => seconds <= bound);
    const bucket = at < 0 ? answerBounds.length : at;
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#seconds += seconds;
  }

  judged(_job: Job, verdict: string): void {
    this.#add(`verdict/${verdict}`);
  }

  settled(_job: Job, outcome: Outcome): void {
    if (outcome.to === "retry") return;
    this.#add("reason" in outcome ? `${outcome.to}/${outcome.reason.code}` : outcome.to);
  }

  pruned({ parked, unsigned, madeRoom }: Pruned): void {
    for (const deleted of [parked, unsigned, madeRoom]) {
      for (const [reason, count] of Object.entries(deleted)) this.#add(`deleted/${reason}`, count);
    }
  }

  get numbers(): Numbers {
    const answers = { buckets: [...this.#buckets], seconds: this.#seconds };
    return { counts: { ...this.#total }, answers };
  }

  /** The notes of the hours that have changed, for the process `id` at `wallAt`; {@link kept} says that they are kept. */
  hourNotes(id: string, wallAt: number): Notes {
    const number = Math.floor(wallAt / hourMs);
    this.#hourNumber ||= number;
    const key = `${hourKey}${this.#hourNumber}/${id}`;
    if (this.#isNew) this.#pending[key] = JSON.stringify(this.#hour);
    this.#isNew = false;
    if (number !== this.#hourNumber) this.#hour = {};
    this.#hourNumber = number;
    return { ...this.#pending };
  }

  kept(notes: Notes): void {
    for (const [key, text] of Object.entries(notes)) {
      if (this.#pending[key] === text) delete this.#pending[key];
    }
  }

  #add(name: string, by = 1): void {
    for (const counts of [this.#total, this.#hour]) counts[name] = (counts[name] ?? 0) + by;
    this.#isNew = true;
  }
}
