import type { Mutation } from "./product.ts";

const core = "packages/core/src";
const sqlite = "packages/sqlite/src";

/** Faults that a world has to notice: each is one that somebody could write, and breaks one promise. */
export const mutations: readonly Mutation[] = [
  {
    name: "acknowledges what could not be stored",
    file: `${core}/receive/add-to-inbox.ts`,
    of: "addToInbox",
    becomes: `
      const added = await deadline.race(inbox.add(delivery, arrival)).catch(() => "late" as const);
      return added === "late" ? { status: "added", id: delivery.id } : added;`,
  },
  {
    name: "takes longer to answer than the sender waits",
    file: `${core}/lib/deadline.ts`,
    of: "#left",
    becomes: "return 30_000;",
  },
  {
    name: "takes no verdict for a good one",
    file: `${core}/process/authorize-once.ts`,
    of: "noVerdict",
    becomes: 'return { verdict: "valid" };',
  },
  {
    name: "takes a report without a signature for a test",
    file: `${core}/receive/unsigned.ts`,
    of: "isTest",
    becomes: "return true;",
  },
  {
    name: "gives a verdict up at the first call that goes unanswered",
    file: `${core}/process/without-verdict.ts`,
    of: "isGivenUp",
    becomes: "return !job.released;",
  },
  {
    name: "counts a delivery as handled when one of its handlers succeeded",
    file: `${core}/process/handlers.ts`,
    of: "dispatch",
    becomes: `
      const failures: unknown[] = [];
      const late = (): Error => new Error("late");
      const { signal } = new AbortController();
      const calls = handlers.map((handler) => () => handler(event, { signal, attempt }));
      await withTimeout({ clock, ms, late, parent }, (scope) =>
        runHandlers(calls, () => scope.over, failures),
      ).catch((error) => failures.push(error));
      return failures.length < handlers.length ? [] : failures;`,
  },
  {
    name: "asks no more once its key was refused",
    file: `${core}/process/circuit-breaker.ts`,
    of: "#probeIn",
    becomes: `
      this.#pauseMs = this.#open === "unauthorized" ? 1e9 : ms;
      this.#probeAt = this.#clock.now() + this.#pauseMs;`,
  },
  {
    name: "takes one signature that is refused for a refused key",
    file: `${core}/process/circuit-breaker.ts`,
    of: "refusalsInARow",
    becomes: "1",
  },
  {
    name: "leaves what it stores to the operating system",
    file: `${sqlite}/writer-thread.ts`,
    is: "PRAGMA synchronous = FULL;",
    becomes: "PRAGMA synchronous = OFF;",
  },
  {
    name: "never rescues what a dead process had leased",
    file: `${sqlite}/writer-thread/writer.ts`,
    is: "if (consumers.size === 0) return [];",
    becomes: "if (consumers.size >= 0) return [];",
  },
  {
    name: "takes a process that ended once for poisoned",
    file: `${sqlite}/writer-thread/admin/maintenance.ts`,
    is: "const isPoison = starts >= maxStarts;",
    becomes: "const isPoison = starts >= 1;",
  },
  {
    name: "gives an outcome up that can't be recorded at once",
    file: `${sqlite}/main-thread/completion-recorder.ts`,
    is: "if (!isFailure(result)) return result;",
    becomes: "if (!isFailure(result) || result.code) return true;",
  },
  {
    name: "stores a copy as if it were new",
    file: `${sqlite}/writer-thread/deliveries.ts`,
    is: "if (known.duplicateOf !== undefined) return { duplicateOf: known.duplicateOf };",
    becomes: "",
  },
  {
    name: "hands out again what is at the end of its way",
    file: `${sqlite}/protocol/queues.ts`,
    is: 'if (typeof queue !== "number" || queue >= queues.verify.leased) return null;',
    becomes: 'if (typeof queue !== "number") return { stage: "handle", dueAt: null };',
  },
  {
    name: "forgets to give credit back when a transaction fails",
    file: `${sqlite}/writer-thread/writer.ts`,
    is: "this.#claimer.rollBack();",
    becomes: "",
  },
  {
    name: "keeps counting what was rolled back",
    file: `${sqlite}/writer-thread/transactions.ts`,
    is: "tables.counters.reload();",
    becomes: "",
  },
  {
    name: "trusts a lease that it was told of before it stood still",
    file: `${sqlite}/main-thread/thread-client.ts`,
    is: "return this.#isSure() || this.call",
    becomes: "return true || this.call",
    seed: 5_517,
  },
];
