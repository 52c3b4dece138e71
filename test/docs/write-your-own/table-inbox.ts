import type {
  ActQuery,
  ActStep,
  ActsQuery,
  AddResult,
  Arrival,
  Backlog,
  ConsumeOptions,
  Consumer,
  Counts,
  Entry,
  EntryDetails,
  ErrorGroup,
  ErrorsQuery,
  Facts,
  Inbox,
  InboxQuery,
  LoggedAct,
  NewDelivery,
  Notes,
  Outcome,
  Processor,
  Pruned,
  Stage,
  Summary,
  SummaryQuery,
  TimeMark,
} from "@reporthook/core";
import * as parts from "@reporthook/core/store";

const waits = ({ state }: parts.StoredDelivery): boolean =>
  state === "received" || state === "verified";
const retention = { handledMs: 7 * parts.dayMs, parkedMs: 30 * parts.dayMs };

/** An inbox with a `Map` as its table: comments mark the parts that a database does for you. */
export class TableInbox implements Inbox {
  readonly identity: unknown = this;
  readonly guarantees: Inbox["guarantees"] = {
    durability: "process",
    noticesReuse: true,
    clock: "given",
    order: "exact",
    finds: "everything",
  };
  // The two tables: deliveries, and the keys of the last 24 hours.
  readonly #rows = new Map<string, parts.StoredDelivery>();
  readonly #keys = new Map<string, { readonly id: string; readonly at: number }>();
  // In a database: a column with the worker and the end of its lease.
  readonly #leased = new Set<parts.StoredDelivery>();
  readonly #consumers = new Set<{ wake(): void; abort(): Promise<void> }>();
  readonly #shown = new parts.ShownChanges();
  // In a database: a table of the last 1,000.
  readonly #acts = new parts.ActLog();
  readonly #deleted: Parameters<typeof parts.countDeleted>[0] = new Map();
  readonly #notes = new Map<string, string>();
  // In a database: one row.
  #mark = parts.noMark;

  async open(): Promise<void> {}

  async add(delivery: NewDelivery, arrival: Arrival): Promise<AddResult> {
    const { id, arrivedAt } = delivery;
    const key = delivery.key === null ? null : Buffer.from(delivery.key).toString("hex");
    const recent = [...this.#keys].filter(([, { at }]) => arrivedAt - at < parts.dayMs);
    const same = recent.find(([other]) => other === key);
    if (same !== undefined) return { status: "duplicate", id: same[1].id };
    // The first 12 bytes are those of the signature.
    const reused = key && recent.find(([other]) => other.slice(0, 24) === key.slice(0, 24));
    const sameSignatureAs = reused ? reused[1].id : null;

    if (key !== null) this.#keys.set(key, { id, at: arrivedAt });
    const kept = parts.newStoredDelivery(delivery, arrival, sameSignatureAs);
    kept.changedAt = this.#shown.after(kept.changedAt);
    this.#rows.set(id, kept);
    // In a database: committed by now.
    this.#wake();
    return { status: "added", id, ...(sameSignatureAs !== null && { sameSignatureAs }) };
  }

  consume(stage: Stage, processor: Processor, options: ConsumeOptions): Consumer {
    const { receiver, concurrency, clock, onError, onRecorded } = options;
    const controller = new AbortController();
    // In a database: asks whether this worker still has the row.
    const lease = { signal: controller.signal, isHeld: () => true };
    const running = new Map<Promise<void>, (outcome: Outcome) => void>();
    let timer: unknown;
    let stopped = false;
    // Nobody knows how much of a delay has passed between two processes.
    for (const kept of stage === "verify" ? this.#waiting(stage, receiver) : []) {
      kept.dueAt = Math.min(kept.dueAt, clock.now() + 10_000);
    }

    const attempt = (kept: parts.StoredDelivery): void => {
      const startedAt = clock.now();
      const job = parts.jobOf(kept);
      let requeue = (_outcome: Outcome): void => {};
      const requeued = new Promise<Outcome>((resolve) => {
        requeue = resolve;
      });
      const done = Promise.resolve()
        .then(() => processor(job, lease))
        .catch((error: unknown) => {
          if (!controller.signal.aborted) onError(error);
          return parts.retryIn(1_000, parts.describe(error), { countsAsAttempt: true });
        });
      const ended: Promise<void> = Promise.race([done, requeued]).then((outcome) => {
        const { wallOffset } = clock;
        parts.applyOutcome(kept, outcome, startedAt, { now: clock.now(), wallOffset });
        kept.changedAt = this.#shown.after(kept.changedAt);
        this.#leased.delete(kept);
        this.#boundUnsigned(kept);
        if (kept.state === "rejected") this.#boundRejected();
        running.delete(ended);
        onRecorded?.(job, outcome);
        this.#wake();
      });
      running.set(ended, requeue);
    };
    const wake = (): void => {
      clock.clearTimeout(timer);
      while (!stopped && running.size < concurrency) {
        const next = this.#next(stage, receiver, clock.now());
        if (next === undefined) break;
        this.#leased.add(next);
        attempt(next);
      }
      const dueAt = Math.min(...this.#waiting(stage, receiver).map((kept) => kept.dueAt));
      const inMs = dueAt - clock.now();
      if (!stopped && inMs > 0 && Number.isFinite(inMs)) {
        timer = parts.setUnrefTimeout(clock, wake, inMs);
      }
    };
    const stop = async (): Promise<void> => {
      stopped = true;
      clock.clearTimeout(timer);
      await Promise.all(running.keys());
      this.#consumers.delete(consumer);
    };
    const abort = async (): Promise<void> => {
      const stopping = stop();
      controller.abort(new Error("The inbox is closing"));
      for (const requeue of running.values()) {
        requeue(parts.retryIn(0, "stopped", { countsAsAttempt: false }));
      }
      await stopping;
    };
    const consumer = { wake, abort };
    this.#consumers.add(consumer);
    queueMicrotask(wake);
    return {
      stop,
      abort,
      get running() {
        return running.size;
      },
    };
  }

  async get(id: string, receiver?: string): Promise<EntryDetails | null> {
    const kept = this.#rows.get(id);
    const isTheirs = receiver === undefined || kept?.receiver === receiver;
    if (kept === undefined || !isTheirs) return null;
    return this.#shown.show(parts.detailsOf(kept, this.#wallOffset));
  }

  async list(query: InboxQuery = {}): Promise<Entry[]> {
    const found = parts.filterEntries(this.#rows.values(), query);
    return found.map((kept) => this.#shown.show(parts.entryOf(kept, this.#wallOffset)));
  }

  async summary(query: SummaryQuery): Promise<Summary> {
    return parts.summarize(this.#rows.values(), query);
  }

  async counts(receiver?: string): Promise<Counts> {
    return parts.countStates(this.#rows.values(), receiver);
  }

  // Called before every body is read: keep these counts in memory.
  backlog(receiver: string): Backlog {
    const backlog = { ...parts.noBacklog };
    for (const stored of this.#of(receiver)) parts.countInBacklog(backlog, stored, 1);
    return backlog;
  }

  // In a database: counted as they change, and looked up through an index.
  async facts(receiver: string): Promise<Facts> {
    const deleted = { ...this.#deleted.get(receiver) };
    return parts.factsOf(this.#rows.values(), receiver, retention, deleted);
  }

  // In a database: a table of receiver, key and text.
  async notes(receiver: string, prefix: string): Promise<Notes> {
    const all = [...this.#notes].map(([key, text]) => [key.split(" "), text] as const);
    const theirs = all.filter(([[of, key = ""]]) => of === receiver && key.startsWith(prefix));
    return Object.fromEntries(theirs.map(([[, key], text]) => [key, text]));
  }

  async keepNotes(receiver: string, notes: Record<string, string | null>): Promise<void> {
    for (const [key, text] of Object.entries(notes)) {
      if (text === null) this.#notes.delete(`${receiver} ${key}`);
      else this.#notes.set(`${receiver} ${key}`, text);
    }
  }

  // In a database: in steps of some hundred, each in a transaction.
  async *act(query: ActQuery): AsyncGenerator<ActStep> {
    const { act, dryRun } = query;
    const count = new parts.ActCount();
    for (const kept of this.#of().filter(parts.selectorOf(query))) {
      if (act === "retry" && this.#leased.has(kept)) continue;
      count.add(kept);
      if (dryRun) continue;
      if (act === "discard") this.#delete(kept);
      if (act !== "discard") parts.applyAct(kept, query);
      if (act !== "discard") kept.changedAt = this.#shown.after(kept.changedAt);
    }
    this.#wake();
    if (!dryRun) this.#acts.add(query, count.total);
    yield count;
  }

  async errors(query: ErrorsQuery = {}): Promise<ErrorGroup[]> {
    return parts.groupErrors(this.#rows.values(), query);
  }

  async acts(query: ActsQuery = {}): Promise<LoggedAct[]> {
    return this.#acts.list(query);
  }

  async prune(date: Date, { dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<Pruned> {
    const now = date.getTime();
    const count = new parts.PruneCount(retention);
    for (const kept of this.#of()) {
      const step = count.step(kept, now);
      if (step === "announce" && !dryRun) kept.announcedAt = now;
      if (step === "delete" && !dryRun) this.#delete(kept);
    }
    for (const [key, { at }] of this.#keys) {
      if (now - at >= parts.dayMs) this.#keys.delete(key);
    }
    return count;
  }

  async keepTime(mark: TimeMark): Promise<TimeMark> {
    this.#mark = parts.laterMark(this.#mark, mark);
    return this.#mark;
  }

  async health(): Promise<{ ok: boolean }> {
    return { ok: true };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer.abort()));
  }

  get #wallOffset(): number {
    return this.#mark.wallAt - this.#mark.livedAt;
  }

  /** Keeps the latest 1,000 handled and the latest 1,000 dead unsigned deliveries. */
  #boundUnsigned({ state }: parts.StoredDelivery): void {
    if (state !== "handled" && state !== "dead") return;
    const ended = this.#of().filter((kept) => kept.state === state && parts.isUnsigned(kept));
    ended.sort((one, other) => one.changedAt - other.changedAt);
    for (const kept of ended.slice(0, -parts.maxUnsigned)) this.#delete(kept);
  }

  /** Keeps the content of the latest rejected deliveries, up to 1,000 and 16 MiB. */
  #boundRejected(): void {
    const whole = this.#of().filter(({ state, body }) => state === "rejected" && body !== null);
    whole.sort((one, other) => one.changedAt - other.changedAt);
    let bytes = 0;
    for (const [index, kept] of whole.toReversed().entries()) {
      bytes += kept.body?.byteLength ?? 0;
      const { max, bytes: most } = parts.wholeRejected;
      if (index >= max || bytes > most) parts.dropContent(kept);
    }
  }

  #of(receiver?: string): parts.StoredDelivery[] {
    const all = [...this.#rows.values()];
    return receiver === undefined ? all : all.filter((kept) => kept.receiver === receiver);
  }

  #waiting(stage: Stage, receiver: string): parts.StoredDelivery[] {
    return this.#of(receiver).filter(
      (kept) => waits(kept) && kept.stage === stage && !this.#leased.has(kept),
    );
  }

  /** Verify: the newest first, those older than 5 minutes last. Handle: by due time. */
  #next(stage: Stage, receiver: string, now: number): parts.StoredDelivery | undefined {
    const rank = ({
      arrivedAt,
      dueAt,
      lastTurnAt,
    }: parts.StoredDelivery): readonly [number, number] => {
      const isLate = now - arrivedAt >= parts.signatureLifetimeMs;
      if (stage === "handle") return [0, dueAt];
      return lastTurnAt !== null ? [1, lastTurnAt] : [isLate ? 2 : 0, -arrivedAt];
    };
    return this.#waiting(stage, receiver)
      .filter(({ dueAt }) => dueAt <= now)
      .map((kept) => ({ kept, rank: rank(kept) }))
      .sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1])[0]?.kept;
  }

  #delete(kept: parts.StoredDelivery): void {
    parts.countDeleted(this.#deleted, kept);
    this.#rows.delete(kept.id);
    // The key of a handled delivery stays; a copy of any other deleted delivery must be accepted.
    if (kept.state === "handled") return;
    for (const [key, { id }] of this.#keys) if (id === kept.id) this.#keys.delete(key);
  }

  // In a database: notify other processes too, or poll the table.
  #wake(): void {
    for (const consumer of this.#consumers) queueMicrotask(consumer.wake);
  }
}
