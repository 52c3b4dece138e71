/** How the service answered last; `failing`: it answers, with no verdict. */
export type ServiceStatus = "unknown" | "ok" | "unreachable" | "refused" | "failing";

/** The facts that one process knows alone, as it tells them to others. Times are lived times in milliseconds. */
export interface News {
  readonly service: ServiceStatus;
  readonly refusedSince: number | null;
  readonly judgedAt: number | null;
  readonly validAt: number | null;
  /** When the newest notification was received that was accepted, by the wall clock. */
  readonly newest: number | null;
  /** The verdicts in the last minute. */
  readonly judged: number;
  /** The calls since the last verdict. */
  readonly vain: {
    readonly since: number;
    /** Whether each answer may concern one signature, and a delivery of each of these signatures: five at most. */
    readonly isSingle: boolean;
    readonly ids: readonly string[];
  } | null;
  /** The verdicts `invalid` since the last valid one, and when the last five of them came. */
  readonly invalid: {
    readonly since: number;
    readonly count: number;
    readonly latest: readonly number[];
    readonly hasToken: boolean;
  } | null;
  /** The notifications that were turned away in the last hour, by minute: `doubtful` ones may have been a stranger's. */
  readonly lost: {
    readonly since: number;
    readonly certainAt: number;
    readonly minutes: readonly (readonly [minute: number, certain: number, doubtful: number])[];
  } | null;
  /** The unsigned ones that came in the last hour, with the names of the headers of the last. */
  readonly unsigned: {
    readonly since: number;
    readonly at: number;
    readonly headers: readonly string[];
  } | null;
  /** Since when handlers fail of deliveries that wait for another attempt. */
  readonly failingSince: number | null;
  /** Since when nothing can be stored. */
  readonly fails: { readonly since: number; readonly error: string } | null;
  readonly stoodStill: { readonly at: number; readonly ms: number } | null;
  /** The parked ones that retention deleted in the last hour, by reason: when last, and how many. */
  readonly deleted: Readonly<Record<string, readonly [at: number, count: number]>>;
  /** When each problem began that this process saw last; null before it has looked. */
  readonly open: Readonly<Record<string, number>> | null;
  /** Whether this process sends alerts. */
  readonly alerts: boolean;
}
