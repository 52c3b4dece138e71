import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import {
  createClient,
  createReceiver,
  DoNotRetry,
  type Inbox,
  memoryInbox,
} from "@reporthook/core";
import { dashboard, ofInbox } from "@reporthook/dashboard";
import { createEmulator } from "@reporthook/emulator";
import { telemetry } from "@reporthook/opentelemetry";
import { missingProgram, testWith } from "@reporthook/test-support/needs";
import { manualClock } from "@reporthook/testing/internals";
import { expect, test } from "vitest";
import { appOnStage } from "./stage/app-on-stage.ts";
import { failingHandlers, play } from "./stage/scene.ts";
import type { StageOptions } from "./stage/stage.ts";

/** Adds the units to the names: the specification requires them, and the exporter leaves them out. */
function withUnits(metrics: string): string {
  const inSeconds = [...metrics.matchAll(/^# UNIT (\w+) s$/gm)].map(([, name = ""]) => name);
  return inSeconds.reduce(
    (text, name) => text.replace(new RegExp(`^${name}(?=\\{|_bucket)`, "gm"), `${name}_seconds`),
    metrics,
  );
}

/** The samples of an answer: the value by the name with its labels, the two of every sample left out. */
function samplesOf(metrics: string): Record<string, number> {
  const lines = metrics.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", labels = "", value = ""] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
      const own = labels.split(",").filter((label) => !/^(messaging_|otel_)/.test(label));
      return [own.length === 0 ? name : `${name}{${own.join(",")}}`, Number(value)];
    }),
  );
}

const secrets = ["0123456789abcdef0123456789abcdef"];
const callback = { secrets, url: "https://app.example/webhooks/reports" };
const staged: StageOptions = { handlers: failingHandlers, receiver: { name: "billing", callback } };

test("the metrics tell the content of the inbox and the state of the receiver", async () => {
  const stage = await appOnStage(staged);
  await stage.receiver.reports.request({ domains: ["example.com"] });
  await play(stage);
  await stage.receiver.fetch(new Request("http://app/hook"));
  const answer = await fetch(`${stage.url}metrics`);
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const metrics = await answer.text();
  const labels = 'messaging_system="reporthook",messaging_destination_name="billing"';
  for (const line of metrics.split("\n").filter((line) => /^[a-z]/.test(line))) {
    expect(line).toContain(labels);
  }
  const samples = samplesOf(metrics);
  const { counts } = await stage.receiver.health();
  expect(samples).toMatchObject({
    reporthook_ready: 1,
    reporthook_inbox_up: 1,
    'reporthook_service_status{reporthook_status="ok"}': 1,
    'reporthook_service_status{reporthook_status="refused"}': 0,
    'reporthook_deliveries_waiting{reporthook_state="received"}': 0,
    'reporthook_deliveries_waiting{reporthook_state="verified"}': 1,
    'reporthook_deliveries_stored{reporthook_state="handled"}': counts.handled,
    'reporthook_deliveries_stored{reporthook_state="rejected"}': 1,
    'reporthook_deliveries_parked{reporthook_reason="do_not_retry"}': 3,
    'reporthook_deliveries_parked{reporthook_reason="expired"}': 1,
    'reporthook_deliveries_parked{reporthook_reason="poison"}': 0,
    'reporthook_deliveries_total{reporthook_outcome="handled"}': counts.handled,
    'reporthook_deliveries_total{reporthook_outcome="method_not_allowed"}': 1,
    'reporthook_deliveries_total{reporthook_outcome="held",reporthook_reason="expired"}': 1,
    'reporthook_deliveries_total{reporthook_outcome="dead",reporthook_reason="do_not_retry"}': 3,
    'reporthook_deliveries_total{reporthook_outcome="rejected",reporthook_reason="invalid_signature"}': 1,
    'reporthook_verdicts_total{reporthook_verdict="invalid"}': 1,
    'reporthook_report_requests{reporthook_state="open"}': 1,
    'reporthook_report_requests{reporthook_state="overdue"}': 0,
    'reporthook_problem{code="parked",severity="warning"}': 1,
    'reporthook_problem{code="key_refused",severity="critical"}': 0,
  });
  expect(samples["reporthook_deliveries_oldest_seconds"]).toBeGreaterThan(0);
  const [silent = ""] = metrics.match(/^reporthook_process_silent_seconds.*$/m) ?? [];
  for (const label of ["host", "version", "since"]) expect(silent).toMatch(`${label}="`);
  expect(silent).toMatch(new RegExp(`pid="${process.pid}".*since="[\\d:T.-]+Z"`));
  expect(metrics).not.toMatch(/key-that-nobody-may-see|q3-sales|lost-31|must not be shown/);
});

testWith(missingProgram("promtool", "prometheus"))(
  "the metrics pass the check of promtool",
  async () => {
    const stage = await appOnStage(staged);
    await play(stage);
    const metrics = await (await fetch(`${stage.url}metrics`)).text();
    const checking = spawn("promtool", ["check", "metrics"]);
    const ended = once(checking, "exit");
    const said = [text(checking.stdout), text(checking.stderr)];
    checking.stdin.end(metrics);
    expect([await Promise.all(said), await ended]).toEqual([
      ["", ""],
      [0, null],
    ]);
  },
);

test("the metrics that OpenTelemetry measures too have the same names, labels and values there", async () => {
  const reader = new PrometheusExporter({ preventServerStart: true });
  const measuring = new MeterProvider({ readers: [reader] });
  const both = { ...staged.receiver, ...telemetry({ meter: measuring.getMeter("test") }) };
  const stage = await appOnStage({ ...staged, receiver: both });
  await stage.receiver.reports.request({ domains: ["example.com"] }, { overdueMs: 1 });
  const told = { type: "report.overdue", state: "handled" } as const;
  await expect.poll(() => stage.receiver.inbox.list(told)).toHaveLength(1);
  await play(stage);
  const { resourceMetrics } = await reader.collect();
  const theirs = samplesOf(withUnits(new PrometheusSerializer().serialize(resourceMetrics)));
  const ours = samplesOf(await (await fetch(`${stage.url}metrics`)).text());
  const common = Object.keys(ours).filter((name) => name in theirs);
  const states = ["received", "verified"].map(
    (state) => `reporthook_deliveries_waiting{reporthook_state="${state}"}`,
  );
  for (const state of ["unconfirmed", "open", "complete", "internal_error", "overdue"]) {
    states.push(`reporthook_report_requests{reporthook_state="${state}"}`);
  }
  const counted = common.filter((name) => /_total\{/.test(name));
  states.push('reporthook_problem{code="parked",severity="warning"}');
  expect(common).toEqual(
    expect.arrayContaining(["reporthook_deliveries_oldest_seconds", ...states]),
  );
  expect(counted.length).toBeGreaterThan(5);
  for (const name of [...states, ...counted])
    expect([name, ours[name]]).toEqual([name, theirs[name]]);
  const named = (name: string) => Object.keys(theirs).some((each) => each.startsWith(name));
  expect(boundsIn(theirs)).toEqual(boundsIn(ours));
  // One name has one meaning: that of a counter is nowhere else.
  expect(named("reporthook_deliveries_total{")).toBe(true);
  expect(Object.keys(ours).filter((name) => name.startsWith("reporthook_deliveries{"))).toEqual([]);
  await measuring.shutdown();
});

/** The upper bounds of the histogram of answers. */
function boundsIn(samples: Record<string, number>): string[] {
  const bound = /^reporthook_acknowledge_duration_seconds_bucket\{.*le="(.+?)"/;
  return [...new Set(Object.keys(samples).flatMap((name) => bound.exec(name)?.[1] ?? []))];
}

test("the metrics count an answer by its time with storing, and parked deliveries that retention deletes", async () => {
  const clock = manualClock();
  const inbox = memoryInbox({ retention: { parkedMs: 2_000 } });
  const add = inbox.add.bind(inbox);
  const slow = (...given: Parameters<Inbox["add"]>) => {
    clock.advance(3_000);
    return add(...given);
  };
  const emulator = createEmulator();
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    clock,
    name: "billing",
    logger: false,
    inbox: Object.assign(inbox, { add: slow }),
  });
  receiver.on("report", () => {
    throw new DoNotRetry("never");
  });
  const notification = emulator.notification("report.complete");
  const sent = await receiver.fetch(new Request("https://app.example/hook", notification));
  expect(sent.status).toBe(200);
  await receiver.idle({ timeoutMs: 60_000 });
  for (const ms of [3_600_000, 60_000]) {
    clock.advance(ms);
    await receiver.inbox.list();
  }
  const page = dashboard(receiver, { logger: false });
  const answer = await page(new Request("http://localhost/inbox/metrics"), { peer: "127.0.0.1" });
  const text = await answer.text();
  const samples = samplesOf(text);
  const name = "reporthook_acknowledge_duration_seconds";
  expect(text).toContain(`# TYPE ${name} histogram`);
  expect(boundsIn(samples)).toEqual([
    "0.001",
    "0.005",
    "0.01",
    "0.05",
    "0.1",
    "0.5",
    "1",
    "2.5",
    "5",
    "10",
    "+Inf",
  ]);
  expect(samples).toMatchObject({
    [`${name}_bucket{le="0.001"}`]: 0,
    [`${name}_bucket{le="2.5"}`]: 0,
    [`${name}_bucket{le="5"}`]: 1,
    [`${name}_bucket{le="+Inf"}`]: 1,
    [`${name}_sum`]: 3,
    [`${name}_count`]: 1,
    'reporthook_deliveries_deleted_total{reporthook_reason="do_not_retry"}': 1,
  });
  await receiver.close();
  await emulator.close();
});

/** The metrics of an inbox without a receiver. */
async function metricsOf(inbox: Inbox): Promise<Record<string, number>> {
  const page = dashboard(ofInbox(inbox, { receiver: "billing" }), { logger: false });
  const answer = await page(new Request("http://localhost/inbox/metrics"), { peer: "127.0.0.1" });
  expect(answer.status).toBe(200);
  return samplesOf(await answer.text());
}

test("the metrics leave out unknown figures of an inbox that fails, or takes long to count, or keeps no requests", async () => {
  const error = "The disk is full";
  const failing = Object.assign(memoryInbox(), { health: async () => ({ ok: false, error }) });
  const samples = await metricsOf(failing);
  expect(samples).toMatchObject({ reporthook_ready: 0, reporthook_inbox_up: 0 });
  const slow = Object.assign(memoryInbox(), { facts: () => new Promise<never>(() => {}) });
  expect(await metricsOf(slow)).toMatchObject({ reporthook_ready: 1, reporthook_inbox_up: 1 });
  for (const shown of [samples, await metricsOf(slow)]) {
    expect(Object.keys(shown).filter((name) => name.includes("deliveries"))).toEqual([]);
  }
  const all = Object.keys(await metricsOf(memoryInbox()));
  const without = Object.keys(
    await metricsOf(Object.assign(memoryInbox(), { requests: undefined })),
  );
  const isOfRequests = (name: string) => name.startsWith("reporthook_report_requests{");
  expect([all.filter(isOfRequests).length, without.filter(isOfRequests).length]).toEqual([5, 0]);
  expect(without.length).toBe(all.length - 5);
});

test("the metrics are answered 503 once the receiver is closed, which Prometheus takes as down", async () => {
  const { url, receiver } = await appOnStage();
  expect((await fetch(`${url}metrics`)).status).toBe(200);
  await receiver.close();
  expect((await fetch(`${url}metrics`)).status).toBe(503);
});
