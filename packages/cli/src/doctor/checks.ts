import { isLoopback } from "@reporthook/core/store";
import { type Advice, adviceFor, mountLine } from "../lib/advice.ts";
import { codeOf, type Exchange, exchange, isDelivered } from "../lib/exchange.ts";
import { milliseconds } from "../lib/layout.ts";

/** The result of one check; a failure has a line to type. */
export interface Check extends Partial<Advice> {
  readonly name: string;
  readonly result: "pass" | "warn" | "fail";
  readonly says: string;
}

/** Response times, in milliseconds. */
export interface Times {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const json = { "content-type": "application/json" };
const body = JSON.stringify({
  event_type: "test_webhook_endpoint",
  payload: "reporthook doctor: can this address receive notifications?",
});
// The receiver accepts 10 unsigned ones a second, and refuses more with this code.
const unsignedRefused = "missing_signature";
const paceMs = 125;
const slowMs = 1_000;
const oversizedBytes = 300_000;

/** Sends one unsigned test notification, as the service might. */
export function sendTest(to: string): Promise<Exchange> {
  return exchange(to, { headers: json, body });
}

/** Checks whether the connection protects notifications. */
export function checkTransport(to: string): Check {
  const { protocol, hostname } = new URL(to);
  if (protocol === "https:") return pass("transport", "HTTPS");
  if (isLoopback(hostname)) return pass("transport", "HTTP, on this machine");
  return {
    ...{ name: "transport", result: "warn", says: "HTTP: a signature does not protect the body" },
    fix: "Use an https address.",
  };
}

/** Checks the answer to the first test notification. */
export function checkReachable(to: string, answer: Exchange): Check {
  const name = "reachable";
  const advice = adviceFor(to, answer);
  if (answer.status === null) return { name, result: "fail", says: answer.error, ...advice };
  const { status, ms } = answer;
  if (isDelivered(answer)) return pass(name, `answered ${status} in ${milliseconds(ms)}`);
  const code = codeOf(answer);
  if (code === unsignedRefused) {
    return {
      ...{ name, result: "warn", says: "the unsigned test notification is refused" },
      fix: 'If the service\'s own test fails too, set unsignedTests: "accept".',
    };
  }
  const says = `answered ${status}${code === null ? "" : ` ${code}`}, not 2xx`;
  return { name, result: "fail", says, ...advice };
}

/** Measures response times, one request after another. */
export async function timeAnswers(
  to: string,
  count: number,
  first: Exchange,
): Promise<{ readonly check: Check; readonly times: Times | null }> {
  const name = "answer time";
  const answers: Exchange[] = [];
  for (let i = 0; i < count; i++) {
    const answer = await sendTest(to);
    answers.push(answer);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, paceMs - answer.ms)));
  }
  const undelivered = answers.filter((answer) => !isDelivered(answer));
  const lost = undelivered.filter((answer) => codeOf(answer) !== unsignedRefused);
  const limited = isDelivered(first) ? undelivered.length - lost.length : 0;
  const sorted = answers.map(({ ms }) => ms).sort((one, other) => one - other);
  const at = (share: number): number => sorted[Math.ceil(share * count) - 1] ?? 0;
  const times = { count, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  const [p50, p99] = [milliseconds(times.p50Ms), milliseconds(times.p99Ms)];
  const refused = limited === 0 ? "" : `; ${limited} refused as too many unsigned ones`;
  const says = `p50 ${p50}, p99 ${p99} of ${count}; the service waits 5 s${refused}`;
  const fix = "Answer first and work later, in handlers.";
  const [one] = lost;
  if (one !== undefined) {
    const why = one.status === null ? one.error : `answered ${one.status}`;
    const check: Check = {
      ...{ name, result: "fail", says: `${lost.length} of ${count} failed: ${why}` },
      ...adviceFor(to, one),
    };
    return { check, times };
  }
  const check: Check =
    times.p99Ms < slowMs ? pass(name, says) : { name, result: "warn", says, fix };
  return { check, times };
}

/** Checks the answer to another method. */
export async function checkMethods(to: string): Promise<Check> {
  const name = "methods";
  const answer = await exchange(to, { method: "GET" });
  const says = `GET is answered ${statusOf(answer)}`;
  if (answer.status === null || answer.status >= 500) {
    return { name, result: "warn", says, fix: "Accept POST only, and refuse other methods." };
  }
  if (answer.status >= 400) return pass(name, says);
  const fix = "Check that POST at this address reaches the receiver, and not that page.";
  return { name, result: "warn", says, fix };
}

/** Checks whether the receiver or an earlier parser reads the body. */
export async function checkParser(to: string): Promise<Check> {
  const name = "body parser";
  const answer = await exchange(to, { headers: json, body: '{"event_type":' });
  const says = `a body that is not JSON is answered ${statusOf(answer)}`;
  if (codeOf(answer) === "invalid_json") return pass(name, `${says} by the receiver`);
  if (isDelivered(answer)) {
    const fix = "Check that this address leads to the receiver, which refuses such a body.";
    return { name, result: "fail", says, fix, type: mountLine(to) };
  }
  const result = answer.status === null || answer.status >= 500 ? "fail" : "warn";
  const fix =
    "A middleware ahead of the receiver reads the body: mount the receiver before body parsers.";
  const type = mountLine(to);
  return { name, result, says: `${says}, but not by the receiver`, fix, type };
}

/** Checks the answer to an oversized body. */
export async function checkOversized(to: string): Promise<Check> {
  const name = "oversized";
  const large = JSON.stringify({ padding: "x".repeat(oversizedBytes) });
  const answer = await exchange(to, { headers: json, body: large });
  const says = `300 kB without a signature are answered ${statusOf(answer)}`;
  if (codeOf(answer) === "body_too_large") return pass(name, `${says} by the receiver`);
  if (answer.status === null) return cutOff(name, to, answer);
  if (isDelivered(answer)) {
    const fix = "Limit the size of bodies, as the receiver does: anybody can send one.";
    return { name, result: "fail", says, fix, type: mountLine(to) };
  }
  const fix =
    "A middleware ahead has another limit, also for signed ones: mount the receiver before it.";
  return { name, result: "warn", says: `${says}, but not by the receiver`, fix };
}

/** Judges a missing answer: the connection was closed on purpose, or the body was too large for the app. */
async function cutOff(
  name: string,
  to: string,
  answer: Exchange & { status: null },
): Promise<Check> {
  const after = await exchange(to, { method: "GET" });
  const gone = after.status === null ? `; a GET after it: ${after.error}` : "";
  return {
    ...{ name, result: answer.isLate || gone !== "" ? "fail" : "warn" },
    says: `300 kB without a signature: ${answer.error}${gone}`,
    fix: "Limit the size of bodies and answer 413: anybody can send one.",
    type: mountLine(to),
  };
}

/** A check that found no problem. */
export function pass(name: string, says: string): Check {
  return { name, result: "pass", says };
}

/** The status, or the reason why there is none. */
export function statusOf(answer: Exchange): string {
  if (answer.status === null) return `with nothing (${answer.error})`;
  return String(answer.status);
}
