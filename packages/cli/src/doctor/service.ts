import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { ServiceError } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { type Advice, adviceFor, startLine } from "../lib/advice.ts";
import { program, type Service } from "../lib/environment.ts";
import { withVariables } from "../lib/errors.ts";
import { codeOf, type Exchange, exchange, isDelivered, parsedBody } from "../lib/exchange.ts";
import { quoted } from "../lib/layout.ts";
import { type Check, pass, statusOf } from "./checks.ts";

const nameService = "export REPORTS_URL=https://…";

/** Checks that the service answers 406 to a made-up signature. */
export async function checkService({
  client,
  baseUrl,
}: Pick<Service, "client" | "baseUrl">): Promise<Check> {
  const name = "service";
  try {
    const verdict = await client.authorize(`made-up-${randomUUID()}`);
    if (verdict === "invalid") return pass(name, `${baseUrl} refuses a made-up signature (406)`);
    const answered = verdict === "valid" ? "VALID (200)" : "EXPIRED (424)";
    const says = `${baseUrl} CALLS A MADE-UP SIGNATURE ${answered}: IT WOULD VOUCH FOR ANYBODY`;
    const fix =
      "Check that this is the real service, and do not go live before: forged notifications would be handled.";
    return { name, result: "fail", says, fix, type: nameService };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const says = `asked about a made-up signature: ${withVariables(error.message)}`;
    return { name, result: "fail", says, ...adviceAbout(error, baseUrl) };
  }
}

function adviceAbout({ code, serviceStatus }: ServiceError, baseUrl: string): Advice {
  if (code === "service_refused") {
    const fix = "Use the key that the service gave you.";
    return { fix, type: "read -rs REPORTS_API_KEY && export REPORTS_API_KEY" };
  }
  if (serviceStatus === undefined) {
    return { fix: "Check REPORTS_URL and the way there.", type: `curl -i ${quoted(baseUrl)}` };
  }
  const fix = "An answer other than 406 is no verdict: check REPORTS_URL.";
  return { fix, type: nameService };
}

// A running app asks immediately.
const patienceMs = 15_000;
const paceMs = 100;

/** Sends a genuine notification, the same again, and a forged one; first checks whether the app verifies with the right key. */
export async function checkSigned(to: string, { baseUrl, apiKey }: Service): Promise<Check[]> {
  const emulator = createEmulator({ apiKey });
  const delivered = (name: string, answer: Exchange, what: string, then = ""): Check => {
    const { status } = parsedBody(answer);
    const word = status === undefined ? "" : `, ${status}`;
    const says = `${what} is answered ${statusOf(answer)}${word}`;
    if (isDelivered(answer)) return pass(name, says + then);
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
  const waitMs = isDelivered(first) ? patienceMs : 0;
  const isRefused = forged.status === 401 || forged.status === 403;
  const later = ": the verdict comes after the answer";
  return [
    await checkKey(baseUrl, genuine.headers, waitMs),
    delivered("signed", first, "a genuine notification"),
    delivered("duplicate", second, "a second copy"),
    isRefused
      ? pass("forged", `a forged notification is answered ${forged.status}`)
      : delivered("forged", forged, "a forged notification", later),
  ];
}

/** Checks whether an app asks the emulator about a notification, and with the right key. */
export async function checkKey(
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  waitMs: number,
): Promise<Check> {
  const name = "API key";
  const type = startLine(baseUrl);
  const { href } = new URL("/emulator/asked", baseUrl);
  const ask = async (): Promise<readonly unknown[]> => {
    const { answers } = parsedBody(await exchange(href, { headers }));
    return Array.isArray(answers) ? answers : [];
  };
  const until = performance.now() + waitMs;
  let answers = await ask();
  while (answers.length === 0 && performance.now() < until) {
    await delay(paceMs);
    answers = await ask();
  }
  if (answers.includes(401)) {
    const says = "the service refuses the app's key (401)";
    const fix = `Start the app with the REPORTS_API_KEY of the service at ${baseUrl}. What waits in its inbox is then asked about by and by, or at once: ${program()} inbox retry --all.`;
    return { name, result: "fail", says, fix, type };
  }
  if (answers.length > 0) return pass(name, "the app asks the service, which accepts its key");
  const says =
    "the app did not ask the service about a genuine notification: it asks another one, none, or has paused because its key was refused (see its log)";
  const fix = `Start the app with REPORTS_URL=${baseUrl} and the REPORTS_API_KEY of that service, and call start() if autostart is off.`;
  return { name, result: "fail", says, fix, type };
}
