import type { Mutation } from "./product/product.ts";

const core = "packages/core/src";
const sqlite = "packages/sqlite/src";

/** Faults that a world has to notice: each is one that somebody could write, and breaks one promise. */
export const mutations: readonly Mutation[] = [
  {
    name: "acknowledges a notification that could not be stored",
    file: `${core}/receive/pipeline.ts`,
    of: "#add",
    becomes: `
      const { inbox } = this.#settings;
      const stored = inbox.add(delivery, arrival);
      const adding = deadline.race(stored, deadline.ms).catch(() => "late" as const);
      return adding.then((added) =>
        added === "late" ? { status: "added" as const, id: delivery.id } : added);`,
  },
  {
    name: "takes longer to answer than the sender waits",
    file: `${core}/lib/time/deadline.ts`,
    of: "#arm",
    becomes: `
      this.#clock.clearTimeout(this.#timer);
      this.#firesAt = this.#lateAt + 30_000;
      this.#timer = setUnrefTimeout(this.#clock, () => this.#late?.(), 30_000);`,
  },
  {
    name: "takes no verdict for a good one",
    file: `${core}/verify/authorize.ts`,
    of: "authorizationOfError",
    becomes: 'return { verdict: "valid" };',
  },
  {
    name: "takes a report without a signature for a test",
    file: `${core}/receive/admission.ts`,
    of: "isTest",
    becomes: "return true;",
  },
  {
    name: "gives a verdict up at the first call that goes unanswered",
    file: `${core}/verify/without-verdict.ts`,
    of: "isGivenUp",
    becomes: "return !job.released;",
  },
  {
    name: "counts a delivery as handled when one of its handlers succeeded",
    file: `${core}/handle/handlers.ts`,
    of: "dispatch",
    becomes: `
      const failures: unknown[] = [];
      const run = (handler) => handler(event, { signal: new AbortController().signal, attempt });
      return withTimeout({ clock, ms, late: "late", parent }, (scope) =>
        handlerRuns["reporthook runs handlers"](handlers, run, scope, failures),
      )
        .catch((error) => [...failures, error])
        .then((all) => (all.length < handlers.length ? [] : all));`,
  },
  {
    name: "asks no more once its key was refused",
    file: `${core}/verify/circuit-breaker.ts`,
    of: "#probeIn",
    becomes: `
      this.#probeAt = this.#clock.now() + (this.#open === "unauthorized" ? 1e9 : ms);`,
    seed: 21,
  },
  {
    name: "takes one signature that is refused for a refused key",
    file: `${core}/verify/circuit-breaker.ts`,
    of: "refusalsInARow",
    becomes: "1",
  },
  {
    name: "goes by the wall clock",
    seed: 41,
    file: `${core}/lib/time/lived-clock.ts`,
    of: "now",
    becomes: "return this.#wall();",
  },
  {
    name: "deletes by the wall clock at the start, as if that time had passed",
    seed: 30,
    file: `${core}/inbox/timekeeper.ts`,
    of: "isYoung",
    becomes: "return false;",
  },
  {
    name: "begins at the wall clock's time in each process",
    file: `${core}/inbox/timekeeper.ts`,
    of: "#join",
    becomes: "this.isJoined = true;",
    seed: 176,
  },
  {
    name: "leaves syncs to the operating system",
    file: `${sqlite}/writer-thread.ts`,
    of: "synchronous",
    becomes: '"OFF"',
  },
  {
    name: "never rescues the leases of a dead process",
    file: `${sqlite}/writer-thread/claim/rescue.ts`,
    of: "rescue",
    becomes: "return nothingRescued;",
  },
  {
    name: "takes a process that ended once for poisoned",
    file: `${sqlite}/writer-thread/claim/rescue.ts`,
    of: "maxStarts",
    becomes: "1",
  },
  {
    name: "gives an outcome up that can't be recorded at once",
    seed: 12,
    file: `${sqlite}/main-thread/run.ts`,
    of: "#send",
    becomes: `
      const { options } = this.#host;
      const end = (isRecorded) => {
        if (isRecorded) for (const { job, outcome } of settled) options.onRecorded?.(job, outcome);
        then(isRecorded);
      };
      const waiter = { asked: this.#leased, resolve: end, reject: () => end(true) };
      this.#leased.connection.complete(completion, waiter);`,
  },
  {
    name: "stores a copy as if it were new",
    file: `${sqlite}/writer-thread/dedupe.ts`,
    of: "find",
    becomes: "return nothingKnown;",
  },
  {
    name: "hands out deliveries in a final state again",
    file: `${sqlite}/protocol/row.ts`,
    of: "queuedAfter",
    becomes: `
      const queue = changes[queueAt];
      if (typeof queue !== "number") return { stage: "handle", dueAt: null };
      const stage = queue < queues.handle.later ? "verify" : "handle";
      return { stage, dueAt: queue === queues[stage].later ? Number(changes[rankAt]) : null };`,
  },
  {
    name: "forgets to give credit back when a transaction fails",
    file: `${sqlite}/writer-thread/claim/claimer.ts`,
    of: "rollBack",
    becomes: "this.#failed = true;",
    seed: 31,
  },
  {
    name: "keeps counting writes that were rolled back",
    file: `${sqlite}/writer-thread/transactions.ts`,
    of: "#rollBack",
    becomes: `
      rollBack(this.#deliveries.database);
      this.#file.rolledBack();`,
  },
  {
    name: "hands out a delivery that is being handled, as soon as its verdict is recorded",
    file: `${sqlite}/main-thread/run.ts`,
    of: "#completion",
    becomes: `
      const { claimed, workerId, stored } = this.#leased;
      return {
        seq: claimed.seq,
        stage: this.#leasedFor,
        leasedTo: workerId,
        receiver: this.#host.options.receiver,
        kindBefore: this.#kindBefore,
        kindAfter: kindOf(stored),
        keepsLease: false,
        changes: changesOf(stored, this.#now()),
      };`,
  },
  {
    name: "trusts a lease that it was told of before it stood still",
    file: `${sqlite}/main-thread/thread-connection.ts`,
    of: "holdsLeases",
    becomes: "return true;",
    seed: 1096,
  },
  {
    name: "has each delivery of a status handled",
    file: `${core}/reports/known-requests.ts`,
    of: "whyNot",
    becomes: "return null;",
    asksForReports: true,
  },
  {
    name: "handles a report without looking for its request",
    file: `${core}/handle/handle-stage.ts`,
    of: "#ofRequest",
    becomes:
      "const { request } = await this.#known.withRequest(job); return this.#attempt({ ...job, request }, signal);",
    asksForReports: true,
  },
  {
    name: "takes a request that is not confirmed for one that was never sent",
    file: `${core}/reports/keyed-requests.ts`,
    of: "add",
    becomes: `
      const request = (await this.#requests.store.add(made)) ?? made;
      return { request, isNew: request.state === "unconfirmed" };`,
    asksForReports: true,
  },
  {
    name: "stores a request while it is being sent",
    file: `${core}/reports/keyed-requests.ts`,
    of: "add",
    becomes: `
      const { store } = this.#requests;
      const { idempotencyKey: key, receiver } = made;
      const all = await store.list({ receiver, limit: 1e9 });
      const earlier = all.find((one) => key !== null && one.idempotencyKey === key);
      if (earlier !== undefined) return { request: earlier, isNew: false };
      store.add(made).catch(() => {});
      return { request: made, isNew: true };`,
    asksForReports: true,
    seed: 30,
  },
  {
    name: "notes that a request was told as overdue before it tells it",
    file: `${core}/reports/overdue-sweep.ts`,
    of: "#tell",
    becomes: `
      const wallNow = this.#settings.clock.wallNow();
      await changeRequest(this.#requests.store, request, (read) => dated(read, "overdueAt", wallNow));
      await this.#requests.addEvent(request, "report.overdue", null);`,
    asksForReports: true,
    seed: 69,
  },
  {
    name: "confirms a request by any notification to its address",
    file: `${core}/reports/known-requests.ts`,
    of: "withRequest",
    becomes: `
      const found = await this.find(job.requestId);
      const request = found && (await changeRequest(this.store, found, (read) =>
        read.dates.confirmedAt === null
          ? { ...read, state: "open", dates: { ...read.dates, confirmedAt: this.#receiver.clock.wallNow() } }
          : read,
      ));
      return { ...job, request, context: request === null ? withoutToken : request.context };`,
    asksForReports: true,
  },
];
