// Breaks core in some thousand small ways, one at a time, and counts how many of them the tests of the file in question
// notice: pnpm test:mutation [FILE…], as in `pnpm test:mutation circuit-breaker token`.
import { appendFileSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Stryker } from "@stryker-mutator/core";

const root = join(import.meta.dirname, "../..");
const source = "packages/core/src";
const survivors = join(import.meta.dirname, "survivors.txt");
const floor = 85;
// Tests of a changed core are none.
const evidence = process.env.EVIDENCE;
delete process.env.EVIDENCE;

const life = "receiver-start,receiver-close,receiver-wait-until";

/** Which tests look at a file besides its own. */
const others = {
  ...of("lib/time/timeout,verify/verify-stage", "lib/abort"),
  ...of(
    "client/call-service,packages/emulator/src/operations/request-report.test.ts",
    "client/client",
  ),
  ...of(
    "client/call-service-broken,client/call-service-time,client/client,client/report-request,client/wrapped-fetch",
    "client/call-service",
  ),
  ...of("client/client,client/wrapped-fetch,client/html-page", "client/read-response"),
  ...of("client/client,client/call-service,client/no-answer", "client/client-options"),
  ...of(`lib/time/timeout,lib/time/deadline,run/runner,${life}`, "lib/time/clock"),
  ...of(
    `receiver-handle,receiver-verify,health/health,inbox/query,inbox/transitions,${life}`,
    "inbox/delivery",
  ),
  ...of("handle/handlers,handle/to-event,receiver-handle", "events/events"),
  ...of(
    "inbox/memory/memory-inbox",
    "inbox/memory/consumer",
    "inbox/memory/queue",
    "inbox/memory/room",
  ),
  ...of(
    ...["inbox/memory/memory-inbox", "inbox/memory/dedupe-window", "inbox/stored-delivery"],
    ...["inbox/query", "inbox/retention", "inbox/transitions", "lib/time/real-timers"],
    ...["inbox/acts/acting", "inbox/counts"],
    ...["inbox/facts/facts", "inbox/facts/summary", "inbox/facts/hours"],
    ...["inbox/memory/memory-requests", "inbox/memory/waiting"],
  ),
  ...of(
    "test/mutation/mount.test.ts,http/incoming,http/node-shutdown-hosts,receiver-wait-until",
    ...["http/fetch", "http/node-handler", "http/node-shutdown"],
  ),
  ...of(
    "test/mutation/mount.test.ts,receiver,receiver-limits",
    "http/answer",
    "receive/read-request",
  ),
  ...of(
    "test/mutation/mount.test.ts,http/fetch,http/node-handler,test/adapters/mount-parsers.test.ts,test/adapters/mock-requests.test.ts",
    ...["http/incoming", "http/node-body"],
  ),
  ...of(`receiver-handle,${life},receiver`, "handle/handlers"),
  ...of(
    `receiver-handle,${life},receiver,receiver-retention,reports/reports,inbox/acts/erasing,inbox/facts/hours`,
    "inbox/receiver-inbox",
  ),
  ...of(`${life},receiver-before-ack,receiver-handle`, "receive/inside-request"),
  ...of(
    `run/runner,${life},receiver-verify,receiver`,
    ...["run/idle", "run/wait-until", "run/last-attempts"],
  ),
  ...of(`${life},receiver-verify,receiver`, "run/runner"),
  ...of(`run/runner,${life},run/notices,receiver-verify,receiver,receiver-retention`, "run/work"),
  ...of(
    `receiver-limits,${life},receiver-before-ack,receiver-verify,callback-urls/callback-url,receive/inside-request,receive/without-token,receive/admission`,
    ...["receiver", "receive/pipeline", "receive/admission"],
  ),
  ...of(
    "receiver,receiver-limits,receiver-before-ack,receiver-wait-until,receiver-close,receive/inside-request,receive/without-token,receive/admission,http/node-shutdown,http/node-shutdown-hosts,test/mutation/mount.test.ts",
    "receive/endpoint",
  ),
  ...of(
    "receiver,receiver-limits,receiver-retention,receiver-handle,receiver-verify,receiver-before-ack,receive/without-token,reports/reports",
    ...["observe/hooks", "observe/log-lines", "observe/reporter"],
  ),
  ...of("run/notices", "inbox/notices"),
  ...of("reports/reports,inbox/acts/erasing,inbox/memory/memory-inbox", "reports/erasing"),
  ...of("receiver-handle,client/client,client/no-answer,client/wrapped-fetch", "lib/thrown"),
  ...of(
    "receiver-verify,receiver-handle,receiver-before-ack,receiver",
    ...["verify/authorize", "verify/without-verdict"],
    "handle/after-failure",
  ),
  ...of(
    "receiver-verify,receiver-handle,receiver-before-ack,receive/without-token,health/health,reports/reports",
    "verify/verify-stage",
  ),
  ...of(
    "receiver-handle,receiver-verify,receiver-retention,receiver,reports/reports",
    "handle/handle-stage",
  ),
  ...of(`receiver-before-ack,receiver-verify,receiver,${life}`, "lib/time/timeout"),
  ...of("alerts/alerts", "alerts/alert"),
  ...of(
    "health/health,health/lookout,health/problems,alerts/alerts",
    ...["health/presence", "health/health", "health/process-report"],
    ...["health/shared-question", "health/situation"],
  ),
  ...of(
    "reports/reports,reports/erasing,handle/handle-stage",
    ...["reports/asking", "reports/known-requests", "reports/overdue-sweep"],
    ...["reports/request"],
  ),
  ...of(
    "http/node-shutdown,http/node-shutdown-hosts,http/node-handler,receiver-close,test/mutation/mount.test.ts",
    ...["http/closed-server", "http/connections"],
  ),
  ...of("client/client,client/call-service", "client/authorizer"),
  ...of(
    "client/call-service,client/call-service-broken,client/call-service-time,client/wrapped-fetch,client/no-answer,client/client,client/html-page",
    "client/service-failure",
  ),
  ...of("client/wrapped-fetch,client/call-service,client/read-response", "client/service-response"),
  ...of("lib/time/lived-clock", "lib/time/running-time"),
  ...of(life, "inbox/receivers"),
  ...of("lib/thrown,verify/authorize,lib/platform", "lib/safe-get", "lib/text/describe"),
  ...of("receiver", "lib/is-promise"),
  ...of("receiver,receiver-handle,inbox/memory/dedupe-window,lib/platform", "inbox/dedupe-key"),
  ...of("inbox/query,receiver", "inbox/id"),
  ...of(`options/receiver-settings,${life}`, "lib/validate", "options/checks"),
  ...of(`options/receiver-settings,client/no-answer,${life}`, "lib/platform"),
  ...of("receiver,receiver-handle,alerts/alerts", "options/receiver-settings"),
};

function of(tests, ...files) {
  return Object.fromEntries(files.map((file) => [file, tests]));
}

function testsOf(file) {
  const own = existsSync(join(root, source, `${file}.test.ts`)) ? [file] : [];
  return [...own, ...(others[file]?.split(",") ?? [])]
    .map((name) => (name.endsWith(".ts") ? name : `${source}/${name}.test.ts`))
    .join(",");
}

/** As in `of`, of a path or a name: `http/answer`, or `answer` alone. */
function nameOf(path) {
  return path.replace(/^.*packages\/core\/src\//, "").replace(/\.ts$/, "");
}

function isNamed(file, name) {
  return file === name || basename(file) === name;
}

function filesByTests(wanted) {
  const names = Object.entries(others).flatMap(([file, tests]) => [file, ...tests.split(",")]);
  const gone = names.filter((name) => {
    const files = name.endsWith(".ts")
      ? [name]
      : [".ts", ".test.ts"].map((end) => `${source}/${name}${end}`);
    return !files.some((file) => existsSync(join(root, file)));
  });
  if (gone.length > 0) throw new Error(`run.mjs names ${gone.join(", ")}, which are not there`);
  const all = readdirSync(join(root, source), { recursive: true })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => name.slice(0, -".ts".length));
  const unknown = wanted.filter((name) => !all.some((file) => isNamed(file, name)));
  if (unknown.length > 0) {
    console.error(`There is no ${unknown.join(", ")} in ${source}: there are ${all.join(", ")}.`);
    process.exit(2);
  }
  const files = all.filter((file) => wanted.length === 0 || wanted.some(isNamed.bind(null, file)));
  const groups = new Map();
  for (const file of files) {
    const tests = testsOf(file);
    groups.set(tests, [...(groups.get(tests) ?? []), file]);
  }
  console.error(`Left out, as no test is named for them: ${groups.get("")?.join(", ") ?? "none"}`);
  groups.delete("");
  return groups;
}

async function mutate(files, tests) {
  process.env.MUTATION_TESTS = tests;
  const stryker = new Stryker({
    mutate: files.map((file) => `${source}/${file}.ts`),
    configFile: "test/mutation/stryker.config.mjs",
  });
  return stryker.runMutationTest();
}

const noticed = ["Killed", "Timeout"];
const counted = [...noticed, "Survived", "NoCoverage"];

function scoreOf(mutants) {
  const known = mutants.filter(({ status }) => counted.includes(status));
  const killed = known.filter(({ status }) => noticed.includes(status));
  const late = killed.filter(({ status }) => status === "Timeout");
  return { all: known.length, killed: killed.length, late: late.length };
}

function line(name, mutants) {
  const { all, killed, late } = scoreOf(mutants);
  const percent = all === 0 ? "–" : ((killed / all) * 100).toFixed(1);
  const counts = `${String(killed).padStart(5)} of ${String(all).padEnd(5)}`;
  return `${name.padEnd(24)} ${counts} ${percent.padStart(5)} %, ${late} because they never ended`;
}

/** After each group: a run that is stopped has not been for nothing. */
function record(mutants) {
  const lines = mutants
    .filter(({ status }) => counted.includes(status) && !noticed.includes(status))
    .map(({ fileName, location: { start }, replacement, status }) => {
      const at = `${basename(fileName)}:${start.line}:${start.column}`;
      return `${at} ${status === "NoCoverage" ? "(not run) " : ""}→ ${replacement.replaceAll(/\s+/g, " ")}\n`;
    });
  appendFileSync(survivors, lines.sort().join(""));
  if (!evidence) return;
  const { all, killed } = scoreOf(mutants);
  const [did, wrong] = [{ changes: all }, { unnoticed: all - killed }];
  const line = { kind: "mutation", did, wrong, at: new Date(), node: process.versions.node };
  appendFileSync(evidence, `${JSON.stringify(line)}\n`);
}

const results = [];
const failed = [];
const groups = filesByTests(process.argv.slice(2).map(nameOf));
writeFileSync(survivors, "");
for (const [tests, files] of groups) {
  console.error(`${files.join(", ")}, by ${tests}`);
  const mutants = await mutate(files, tests).catch((error) => {
    console.error(error);
    failed.push(...files);
    return [];
  });
  results.push(...mutants);
  record(mutants);
  for (const file of files) {
    console.error(
      line(
        file,
        mutants.filter(({ fileName }) => fileName.endsWith(`${source}/${file}.ts`)),
      ),
    );
  }
}
console.log(line("all of core", results));
console.log(`Those that nobody noticed: test/mutation/survivors.txt`);
const { all, killed } = scoreOf(results);
if (failed.length > 0) {
  console.error(`Not judged, because their tests failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
if (killed < (all * floor) / 100) {
  console.error(`Less than ${floor} % were noticed.`);
  process.exitCode = 1;
}
