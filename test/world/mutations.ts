import type { Mutation } from "./product.ts";

const core = "packages/core/src";
const sqlite = "packages/sqlite/src";

/** Faults that a world has to notice: each is one that somebody could write, and breaks one promise. */
export const mutations: readonly Mutation[] = [
  {
    name: "acknowledges what could not be stored",
    file: `${core}/receive/store.ts`,
    is: 'return { status: "failed", error };',
    becomes: 'return { status: "added", id: delivery.id };',
  },
  {
    name: "takes longer to answer than the sender waits",
    file: `${core}/receiver.ts`,
    is: "const deadline = new Deadline(clock, clock.now(), limits.ackMs);",
    becomes: "const deadline = new Deadline(clock, clock.now(), 30_000);",
  },
  {
    name: "takes no verdict for a good one",
    file: `${core}/process/authorize.ts`,
    is: "return noVerdict(error);",
    becomes: 'return error instanceof Error ? { verdict: "valid" } : noVerdict(error);',
  },
  {
    name: "takes a report without a signature for a test",
    file: `${core}/receive/unsigned.ts`,
    is: 'const test = claims.type === "test_webhook_endpoint";',
    becomes: "const test = true;",
  },
  {
    name: "gives a verdict up at the first call that goes unanswered",
    file: `${core}/process/stages.ts`,
    is: "job.attempts + 1 >= releasedAttempts : age >= giveUpMs)) {",
    becomes: "job.attempts + 1 >= releasedAttempts : age >= 0)) {",
  },
  {
    name: "counts a delivery as handled when one of its handlers succeeded",
    file: `${core}/process/stages.ts`,
    is: 'if (failures.length === 0) return { to: "handled", type, reportId };',
    becomes: 'if (failures.length < handlers.length) return { to: "handled", type, reportId };',
  },
  {
    name: "asks no more once its key was refused",
    file: `${core}/process/circuit-breaker.ts`,
    is: "    pauseMs = ms;\n",
    becomes: '    if (closed === "refused") ms = 1e9;\n    pauseMs = ms;\n',
  },
  {
    name: "takes one signature that is refused for a refused key",
    file: `${core}/process/circuit-breaker.ts`,
    is: "const refusalsInARow = 2;",
    becomes: "const refusalsInARow = 1;",
  },
  {
    name: "leaves what it stores to the operating system",
    file: `${sqlite}/writer-thread.ts`,
    is: "PRAGMA synchronous = FULL;",
    becomes: "PRAGMA synchronous = OFF;",
  },
  {
    name: "never takes back what a dead process had leased",
    file: `${sqlite}/writer-thread/claim/take-back.ts`,
    is: "if (lanes.size === 0) return [];",
    becomes: "if (lanes.size >= 0) return [];",
  },
  {
    name: "takes a process that ended once for poisoned",
    file: `${sqlite}/writer-thread/admin/admin.ts`,
    is: "const isPoison = starts >= mostStarts;",
    becomes: "const isPoison = starts >= 1;",
  },
  {
    name: "gives an outcome up that can't be recorded at once",
    file: `${sqlite}/main-thread/consumer.ts`,
    is: "if (!isFailure(result)) return result;",
    becomes: "if (!isFailure(result) || result.code) return true;",
  },
  {
    name: "stores a copy as if it were new",
    file: `${sqlite}/writer-thread/deliveries.ts`,
    is: "if (seen.duplicateOf !== undefined) return { duplicateOf: seen.duplicateOf };",
    becomes: "",
  },
  {
    name: "hands out again what is at the end of its way",
    file: `${sqlite}/protocol/queues.ts`,
    is: 'if (typeof queue !== "number" || queue >= queues.verify.leased) return null;',
    becomes: 'if (typeof queue !== "number") return { stage: "handle", isDue: true, rank: 0 };',
  },
  {
    name: "forgets to give places back when a transaction fails",
    file: `${sqlite}/writer-thread/writer.ts`,
    is: "      this.#handOut.rollBack();\n",
    becomes: "",
  },
  {
    name: "keeps counting what was rolled back",
    file: `${sqlite}/writer-thread/writer.ts`,
    is: "    this.#files.tally.reload();\n",
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
