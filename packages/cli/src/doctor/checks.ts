import { type Exchange, exchange, isDelivered, parsed } from "../lib/exchange.ts";
import { milliseconds } from "../lib/layout.ts";

/** What one check found. */
export interface Check {
  readonly name: string;
  readonly result: "pass" | "warn" | "fail";
  readonly says: string;
  /** What to do about it. */
  readonly mend?: string;
}

/** How long the answers took, in milliseconds. */
export interface Times {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const json = { "content-type": "application/json" };
const body = JSON.stringify({
  event_type: "test_webhook_endpoint",
  payload: "reporthook doctor: is this address fit for notifications?",
});
// Unsigned ones are let in 10 a second.
const paceMs = 125;
const slowMs = 1_000;
const oversizedBytes = 300_000;

/** Sends one unsigned test notification, as the service might. */
export function sendTest(to: string): Promise<Exchange> {
  return exchange(to, { headers: json, body });
}

/** Whether notifications can come over the connection unharmed. */
export function checkTransport(to: string): Check {
  const { protocol, hostname } = new URL(to);
  const local = /^(localhost|127\..*|\[::1\])$/.test(hostname);
  if (protocol === "https:") return pass("transport", "HTTPS");
  if (local) return pass("transport", "HTTP, on this machine");
  return {
    ...{ name: "transport", result: "warn", says: "HTTP: a signature covers no body" },
    mend: "Give the service an https address.",
  };
}

/** What the first test notification says. */
export function checkReachable(answer: Exchange): Check {
  const name = "reachable";
  if (answer.status === null) return { name, result: "fail", says: answer.error };
  const { status, ms } = answer;
  if (isDelivered(answer)) return pass(name, `answered ${status} in ${milliseconds(ms)}`);
  const code = codeOf(answer);
  if (code === "missing_signature") {
    return {
      ...{ name, result: "warn", says: "refuses the unsigned test notification" },
      mend: 'If the service\'s own test fails too, set unsignedTests: "accept".',
    };
  }
  const says = `answered ${status}${code === null ? "" : ` ${code}`}, not 2xx`;
  return { name, result: "fail", says, mend: mendOf(status, code) };
}

/** How fast answers come, one after another. */
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
  const lost = answers.filter(({ status }) => status === null || status >= 500);
  const limited = answers.filter(({ status }) => status !== first.status).length - lost.length;
  const sorted = answers.map(({ ms }) => ms).sort((one, other) => one - other);
  const at = (share: number): number => sorted[Math.ceil(share * count) - 1] ?? 0;
  const times = { count, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  const [p50, p99] = [milliseconds(times.p50Ms), milliseconds(times.p99Ms)];
  const refused = limited === 0 ? "" : `; ${limited} refused, as too many unsigned ones`;
  const says = `p50 ${p50}, p99 ${p99} of ${count}; the service waits 5 s${refused}`;
  const mend = "Answer first and work later: that is what handlers are for.";
  if (lost.length > 0) {
    const [one] = lost;
    const why = one?.status === null ? one.error : `answered ${one?.status}`;
    const check: Check = {
      ...{ name, result: "fail", mend: "Look at the app's log." },
      says: `${lost.length} of ${count} failed: ${why}`,
    };
    return { check, times };
  }
  const check: Check =
    times.p99Ms < slowMs ? pass(name, says) : { name, result: "warn", says, mend };
  return { check, times };
}

/** What a request that is no notification gets. */
export async function checkMethods(to: string): Promise<Check> {
  const name = "methods";
  const answer = await exchange(to, { method: "GET" });
  const says = `GET is answered ${statusOf(answer)}`;
  if (answer.status === null || answer.status >= 500) {
    return { name, result: "warn", says, mend: "Take POST only, and refuse the others." };
  }
  if (answer.status >= 400) return pass(name, says);
  const mend = "See that POST at this address reaches the receiver, and not that page.";
  return { name, result: "warn", says, mend };
}

/** Whether the receiver itself, or a parser ahead of it, reads the body. */
export async function checkParser(to: string): Promise<Check> {
  const name = "body parser";
  const answer = await exchange(to, { headers: json, body: '{"event_type":' });
  const says = `what is no JSON is answered ${statusOf(answer)}`;
  if (codeOf(answer) === "invalid_json") return pass(name, `${says} by the receiver`);
  if (isDelivered(answer)) {
    const mend = "See that this address leads to the receiver, which refuses that.";
    return { name, result: "fail", says, mend };
  }
  const result = answer.status === null || answer.status >= 500 ? "fail" : "warn";
  const mend =
    "Something ahead of the receiver reads the body: mount the receiver before body parsers.";
  return { name, result, says: `${says}, and not by the receiver`, mend };
}

/** What happens to a body that is far too large. */
export async function checkOversized(to: string): Promise<Check> {
  const name = "oversized";
  const large = JSON.stringify({ padding: "x".repeat(oversizedBytes) });
  const answer = await exchange(to, { headers: json, body: large });
  const says = `300 kB without a signature are answered ${statusOf(answer)}`;
  if (codeOf(answer) === "body_too_large") return pass(name, `${says} by the receiver`);
  if (answer.status === null) return cutOff(name, to, answer);
  if (isDelivered(answer)) {
    const mend = "Limit what is read of a body, as the receiver does: anybody can send one.";
    return { name, result: "fail", says, mend };
  }
  const mend =
    "Something ahead has a limit of its own, for signed ones too: mount the receiver before it.";
  return { name, result: "warn", says: `${says}, and not by the receiver`, mend };
}

/** Without an answer: somebody has closed the connection on purpose, or the body was too much for the app. */
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
    mend: "Limit what is read of a body and answer 413: anybody can send one.",
  };
}

/** A check that found nothing. */
export function pass(name: string, says: string): Check {
  return { name, result: "pass", says };
}

/** What to do about an answer that is not 2xx. */
export function mendOf(status: number, code: string | null): string {
  if (code === "body_unavailable") return "Mount the receiver before body parsers.";
  if (code === "inbox_unavailable") return "Look at the app's log: its inbox fails.";
  if (code !== null) return "Look at the app's log.";
  if (status >= 300 && status < 400) return "Give the address that this one redirects to.";
  if (status === 404 || status === 405) return "Mount the receiver at this path, for POST.";
  if (status === 401 || status === 403) return "Let POST through here without a login.";
  if (status === 429) return "Take this path out of the rate limit.";
  return "Look at the app's log, and at what is mounted ahead of the receiver.";
}

/** The status, or why there is none. */
export function statusOf(answer: Exchange): string {
  if (answer.status === null) return `with nothing (${answer.error})`;
  return String(answer.status);
}

/** The `code` of an answer of a receiver. */
export function codeOf(answer: Exchange): string | null {
  const { code } = parsedBody(answer);
  return typeof code === "string" ? code : null;
}

/** The JSON object of an answer; without one an empty object. */
export function parsedBody(answer: Exchange): Record<string, unknown> {
  const value = answer.status === null ? null : parsed(answer.body);
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
