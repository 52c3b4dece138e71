import { secretVariable, unsignedUrl } from "./callback.ts";
import { program } from "./environment.ts";
import { CommandFailed } from "./errors.ts";
import { codeOf, type Exchange, parsed } from "./exchange.ts";
import { quoted } from "./layout.ts";

/** How to fix a problem. */
export interface Advice {
  readonly fix: string;
  /** The line to type, in a shell or in the app. */
  readonly type: string;
}

/** How to fix an answer that is not 2xx. */
export function adviceFor(to: string, answer: Exchange): Advice {
  if (answer.status === null) {
    if (answer.isRefused) {
      return { fix: "Start the app, or use the address where it listens.", type: "npm start" };
    }
    const type = `curl -i ${quoted(unsignedUrl(to))}`;
    return { fix: "Check whether the app answers there.", type };
  }
  const { status, headers } = answer;
  const code = codeOf(answer);
  if (code === "body_unavailable") {
    return { fix: "Mount the receiver before body parsers.", type: mountLine(to) };
  }
  if (code === "inbox_unavailable") {
    return { fix: "Check the app's log: its inbox fails.", type: `${program()} inbox stats` };
  }
  if (code === "not_found") {
    const fix = `This address takes signed callback URLs only: set ${secretVariable} to the app's secret, and --receiver to its receiver's name.`;
    return { fix, type: `export ${secretVariable}=…` };
  }
  if (code !== null) return { fix: "Check the app's log.", type: againLine(to) };
  if (status >= 300 && status < 400) {
    const target = headers.get("location") ?? "";
    const isUrl = target !== "" && URL.canParse(target, to);
    const url = isUrl ? unsignedUrl(new URL(target, to).href) : "URL";
    const fix = "Use the address that this one redirects to.";
    return { fix, type: `${program()} doctor --to ${quoted(url)}` };
  }
  if (status === 404 || status === 405) {
    return { fix: "Mount the receiver at this path, for POST.", type: mountLine(to) };
  }
  if (status === 401 || status === 403) {
    return { fix: "Allow POST without a login here.", type: mountLine(to) };
  }
  if (status === 429) {
    return { fix: "Exempt this path from the rate limit.", type: mountLine(to) };
  }
  const fix = "Check the app's log and the middleware ahead of the receiver.";
  return { fix, type: againLine(to) };
}

/** The line that mounts a receiver at the path of an address, in Express. */
export function mountLine(to: string): string {
  return `app.post(${JSON.stringify(new URL(to).pathname)}, reporthook(receiver));`;
}

/** The command that sends one unsigned test notification, as `doctor` does. */
export function againLine(to: string): string {
  return `${program()} trigger test_webhook_endpoint --signature none --to ${quoted(unsignedUrl(to))}`;
}

/** The command that starts an app for a service; it shows no secret key. */
export function startLine(baseUrl: string): string {
  const key = process.env["REPORTS_API_KEY"] ? "$REPORTS_API_KEY" : "test-api-key";
  return `REPORTS_URL=${quoted(baseUrl)} REPORTS_API_KEY=${key} npm start`;
}

/** The failure for a notification that was not delivered. */
export function undelivered(url: string, answer: Exchange): CommandFailed {
  if (answer.status === null) return new CommandFailed("not_delivered", `${url}: ${answer.error}`);
  const { status, ms, body } = answer;
  const done = { to: url, status, ms, body: parsed(body) };
  const { fix, type } = adviceFor(url, answer);
  const advice = `${fix[0]?.toLowerCase()}${fix.slice(1).replace(/\.$/, "")}`;
  // The user has just typed that.
  const line = type.includes(" trigger ") ? "" : `, ${type}`;
  const message = `${url} answered ${status}, not 2xx: ${advice}${line}`;
  return new CommandFailed("not_delivered", message, done);
}
