import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isLoopback } from "@reporthook/core/store";
import { type Advice, adviceFor, mountLine } from "../lib/advice.ts";
import { appFile } from "../lib/environment.ts";
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
  const name = "transport";
  const { protocol, hostname } = new URL(to);
  if (protocol === "https:") return pass(name, "HTTPS");
  if (isLoopback(hostname)) return pass(name, "HTTP, on this machine");
  const says = "HTTP: a signature does not protect the body";
  return { name, result: "warn", says, fix: "Use an https address." };
}

/** Checks the answer to the first test notification. */
export function checkReachable(to: string, answer: Exchange): Check {
  const name = "reachable";
  if (isDelivered(answer)) {
    return pass(name, `answered ${answer.status} in ${milliseconds(answer.ms)}`);
  }
  const code = codeOf(answer);
  if (code === unsignedRefused) {
    const says = "the unsigned test notification is refused";
    const fix = 'If the service\'s own test fails too, set unsignedTests: "accept".';
    return { name, result: "warn", says, fix };
  }
  const answered = `answered ${answer.status}${code === null ? "" : ` ${code}`}, not 2xx`;
  const says = answer.error || answered;
  return { name, result: "fail", says, ...adviceFor(to, answer) };
}

/** Measures response times, one request after another. */
export async function timeAnswers(
  to: string,
  count: number,
  first: Exchange,
): Promise<{ readonly check: Check; readonly times: Times }> {
  const name = "answer time";
  const answers: Exchange[] = [];
  for (let i = 0; i < count; i++) {
    const answer = await sendTest(to);
    answers.push(answer);
    await delay(Math.max(0, paceMs - answer.ms));
  }
  const sorted = answers.map(({ ms }) => ms).sort((one, other) => one - other);
  const at = (share: number): number => sorted[Math.ceil(share * count) - 1] ?? 0;
  const times = { count, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  const undelivered = answers.filter((answer) => !isDelivered(answer));
  const lost = undelivered.filter((answer) => codeOf(answer) !== unsignedRefused);
  const [one] = lost;
  if (one !== undefined) {
    const why = one.error || `answered ${one.status}`;
    const says = `${lost.length} of ${count} failed: ${why}`;
    return { check: { name, result: "fail", says, ...adviceFor(to, one) }, times };
  }
  const limited = isDelivered(first) ? undelivered.length : 0;
  const refused = limited === 0 ? "" : `; ${limited} refused as too many unsigned ones`;
  const measured = `p50 ${milliseconds(times.p50Ms)}, p99 ${milliseconds(times.p99Ms)} of ${count}`;
  const says = `${measured}; the service waits 5 s${refused}`;
  if (times.p99Ms < slowMs) return { check: pass(name, says), times };
  const fix = "Answer first and work later, in handlers.";
  return { check: { name, result: "warn", says, fix }, times };
}

/** Checks the answer to another method. */
export async function checkMethods(to: string): Promise<Check> {
  const name = "methods";
  const answer = await exchange(to, { method: "GET" });
  const says = `GET is answered ${statusOf(answer)}`;
  if (!isBroken(answer) && Number(answer.status) >= 400) return pass(name, says);
  const fix = isBroken(answer)
    ? "Accept POST only, and refuse other methods."
    : "Check that POST at this address reaches the receiver, and not that page.";
  return { name, result: "warn", says, fix };
}

/** Checks whether the receiver or an earlier parser reads the body. */
export async function checkParser(to: string): Promise<Check> {
  const name = "body parser";
  const type = mountLine(to);
  const answer = await exchange(to, { headers: json, body: '{"event_type":' });
  const says = `a body that is not JSON is answered ${statusOf(answer)}`;
  if (codeOf(answer) === "invalid_json") return pass(name, `${says} by the receiver`);
  if (isDelivered(answer)) {
    const fix = "Check that this address leads to the receiver, which refuses such a body.";
    return { name, result: "fail", says, fix, type };
  }
  const result = isBroken(answer) ? "fail" : "warn";
  const fix = "A middleware ahead reads the body: mount the receiver before body parsers.";
  return { name, result, says: `${says}, but not by the receiver`, fix, type };
}

/** Checks the answer to an oversized body; at an address without a token, where it is no loss. */
export async function checkOversized(to: string): Promise<Check> {
  const name = "oversized";
  const type = mountLine(to);
  const large = JSON.stringify({ padding: "x".repeat(oversizedBytes) });
  const answer = await exchange(to, { headers: json, body: large });
  if (answer.status === null) {
    // The connection was closed on purpose, or the body was too large for the app.
    const after = await exchange(to, { method: "GET" });
    const gone = after.status === null ? `; a GET after it: ${after.error}` : "";
    const result = answer.cause === "TimeoutError" || gone !== "" ? "fail" : "warn";
    const says = `300 kB without a signature: ${answer.error}${gone}`;
    const fix = "Limit the size of bodies and answer 413: anybody can send one.";
    return { name, result, says, fix, type };
  }
  const says = `300 kB without a signature are answered ${answer.status}`;
  const code = codeOf(answer);
  if (code === "body_too_large" || code === "not_found") {
    return pass(name, `${says} by the receiver`);
  }
  if (isDelivered(answer)) {
    const fix = "Limit the size of bodies, as the receiver does: anybody can send one.";
    return { name, result: "fail", says, fix, type };
  }
  const fix = "A middleware ahead limits signed ones, too: mount the receiver before it.";
  return { name, result: "warn", says: `${says}, but not by the receiver`, fix };
}

/** No answer, or an error of the app. */
function isBroken({ status }: Exchange): boolean {
  return status === null || status >= 500;
}

/** A check that found no problem. */
export function pass(name: string, says: string): Check {
  return { name, result: "pass", says };
}

/** The status, or the reason why there is none. */
export function statusOf({ status, error }: Exchange): string {
  return status === null ? `with nothing (${error})` : String(status);
}

/** The traces of frameworks: in `x-powered-by`, or the whole 404 page. The first that fits counts. */
const traces: readonly (readonly [name: string, poweredBy: RegExp | null, page: RegExp | null])[] =
  [
    ["Next.js", /^Next\.js/, null],
    ["NestJS", null, /^\{"message":"Cannot GET [^"]*","error":"Not Found","statusCode":404\}$/],
    ["Express", /^Express/, /<pre>Cannot GET \S*<\/pre>/],
    ["Fastify", null, /^\{"message":"Route GET:\S* not found","error":"Not Found","statusCode":/],
    ["Hono", null, /^404 Not Found$/],
    ["Koa", null, /^Not Found$/],
  ];

/** Names the framework of an endpoint, by the headers of its answer and by the page of an address that it can't have. */
export async function checkFramework(to: string, answer: Exchange): Promise<Check> {
  const missing = await exchange(new URL(`/${randomUUID()}`, to).href, { method: "GET" });
  const found = traces.find(
    ([, poweredBy, page]) =>
      [answer, missing].some((one) => poweredBy?.test(one.headers.get("x-powered-by") ?? "")) ||
      (missing.status === 404 && page?.test(missing.body)),
  );
  return pass("framework", found?.[0] ?? "unknown");
}

/** The check with its line to type as the framework has it: Koa routes with a router. */
export function inFramework(check: Check, framework: string | undefined): Check {
  if (framework !== "Koa" || check.type === undefined) return check;
  const type = check.type.replace(/^app(\.post.*)$/, "router$1 app.use(router.routes());");
  return { ...check, type };
}

// Of git check-ignore; it is another one if there is no repository, or no git.
const notIgnored = 1;

/** Warns if git may take the inbox file of this folder into a commit; else null. */
export function checkIgnored(folder: string): Check | null {
  if (!existsSync(`${folder}/${appFile}`)) return null;
  const { status } = spawnSync("git", ["check-ignore", "--quiet", appFile], { cwd: folder });
  if (status !== notIgnored) return null;
  const says = `git does not ignore ${appFile}, which contains notifications`;
  const fix = "Keep it out of commits.";
  return { name: "git", result: "warn", says, fix, type: `echo '${appFile}*' >> .gitignore` };
}
