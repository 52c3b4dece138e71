import { secretVariable, unsignedUrl } from "./callback.ts";
import { program, publicKey } from "./environment.ts";
import { codeOf, type Exchange } from "./exchange.ts";
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
    if (answer.cause === "ECONNREFUSED") {
      return { fix: "Start the app, or use the address where it listens.", type: "npm start" };
    }
    const type = `curl -i ${quoted(unsignedUrl(to))}`;
    return { fix: "Check whether the app answers there.", type };
  }
  const { status, headers } = answer;
  const mounted = (fix: string): Advice => ({ fix, type: mountLine(to) });
  switch (codeOf(answer) ?? status) {
    case "body_unavailable":
      return mounted("Mount the receiver before body parsers.");
    case "inbox_unavailable":
      return { fix: "Check the app's log: its inbox fails.", type: `${program()} inbox stats` };
    case "not_found": {
      const fix = `This address takes signed callback URLs only: set ${secretVariable} to the app's secret, and --receiver to its receiver's name.`;
      return { fix, type: `export ${secretVariable}=…` };
    }
    case 404:
    case 405:
      return mounted("Correct the URL, or mount the receiver at this path, for POST.");
    case 401:
    case 403:
      return mounted("Allow POST without a login here.");
    case 429:
      return mounted("Exempt this path from the rate limit.");
    case 502:
    case 504:
      return {
        fix: "Start the app: what answers at this address did not reach it.",
        type: "npm start",
      };
  }
  if (codeOf(answer) === null && status >= 300 && status < 400) {
    const target = headers.get("location") ?? "";
    const isUrl = target !== "" && URL.canParse(target, to);
    const url = isUrl ? unsignedUrl(new URL(target, to).href) : "URL";
    const fix = "Use the address that it redirects to; if that is a login, allow POST without it.";
    return { fix, type: `${program()} doctor --to ${quoted(url)}` };
  }
  const ahead = codeOf(answer) === null ? " and the middleware ahead of the receiver" : "";
  return { fix: `Check the app's log${ahead}.`, type: againLine(to) };
}

/** Said of a URL that was signed without a context. */
export const bareHint = "Signed without a context: handlers get none. --context gives one.";

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
  const key = process.env["REPORTS_API_KEY"] ? "$REPORTS_API_KEY" : publicKey;
  return `REPORTS_URL=${quoted(baseUrl)} REPORTS_API_KEY=${key} npm start`;
}
