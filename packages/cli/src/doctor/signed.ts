import { setTimeout as delay } from "node:timers/promises";
import { createEmulator } from "@reporthook/emulator";
import { adviceFor, startLine } from "../lib/advice.ts";
import { program, type Service } from "../lib/environment.ts";
import { codeOf, type Exchange, exchange, isDelivered, parsedBody } from "../lib/exchange.ts";
import { type Check, pass, statusOf } from "./checks.ts";

// A running app asks immediately.
const patienceMs = 15_000;
const paceMs = 100;

/** Sends a genuine notification, the same again, and a forged one; first checks whether the app verifies with the right key. */
export async function checkSigned(to: string, { baseUrl, apiKey }: Service): Promise<Check[]> {
  const emulator = createEmulator({ apiKey });
  const delivered = (name: string, answer: Exchange, what: string): Check => {
    const { status } = parsedBody(answer);
    const word = status === undefined ? "" : `, ${status}`;
    const says = `${what} answered ${statusOf(answer)}${word}`;
    if (isDelivered(answer)) return pass(name, says);
    if (codeOf(answer) !== "invalid_signature") {
      return { name, result: "fail", says, ...adviceFor(to, answer) };
    }
    const fix = "Start the app with the REPORTS_URL and REPORTS_API_KEY of this emulator.";
    return { name, result: "fail", says, fix, type: startLine(baseUrl) };
  };
  const genuine = emulator.notification("report.complete");
  const first = await exchange(to, genuine);
  const second = await exchange(to, genuine);
  const forged = await exchange(to, emulator.notification("report", { signature: "invalid" }));
  const refused = forged.status === 401 || forged.status === 403;
  const waitMs = isDelivered(first) ? patienceMs : 0;
  return [
    await checkKey(baseUrl, genuine.headers, waitMs),
    delivered("signed", first, "a genuine notification is"),
    delivered("duplicate", second, "a second copy is"),
    refused
      ? pass("forged", `a forged notification is answered ${forged.status}`)
      : kept(delivered("forged", forged, "a forged notification is")),
  ];
}

/** Checks whether an app asks the emulator about a notification, and with the right key. */
export async function checkKey(
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  waitMs: number,
): Promise<Check> {
  const name = "API key";
  const until = performance.now() + waitMs;
  let answers = await answersTo(baseUrl, headers);
  while (answers.length === 0 && performance.now() < until) {
    await delay(paceMs);
    answers = await answersTo(baseUrl, headers);
  }
  if (answers.includes(401)) {
    const fix = `Start the app with the REPORTS_API_KEY of the service at ${baseUrl}. What waits in its inbox is then asked about by and by, or at once: ${program()} inbox retry --all.`;
    const says = "the service refuses the app's key (401)";
    return { name, result: "fail", says, fix, type: startLine(baseUrl) };
  }
  if (answers.length > 0) return pass(name, "the app asks the service, which accepts its key");
  const says =
    "the app did not ask the service about a genuine notification: it asks another service, or none";
  const fix = `Start the app with REPORTS_URL=${baseUrl} and the REPORTS_API_KEY of that service.`;
  return { name, result: "fail", says, fix, type: startLine(baseUrl) };
}

async function answersTo(
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly unknown[]> {
  const url = new URL("/emulator/asked", baseUrl);
  const { answers } = parsedBody(await exchange(url.href, { headers }));
  return Array.isArray(answers) ? answers : [];
}

function kept(check: Check): Check {
  if (check.result === "fail") return check;
  return { ...check, says: `${check.says}: the verdict comes after the answer` };
}
