import { playgroundPort, program, publicKey } from "../lib/environment.ts";
import { pairs, quoted } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { appFile } from "./app-inbox.ts";
import { completeMs, type Playground } from "./playground.ts";

/** The lines printed when the playground is ready; `hasKeys` if single keys are read. */
export function welcome(playground: Playground, terminal: Terminal, hasKeys: boolean): string[] {
  const { url, webhook, dashboard } = playground;
  const { to } = playground.options;
  const forwards = "forward" in to;
  const facts: (readonly [string, string | null])[] = [
    ["  service", `${url} (emulated)`],
    ["  webhook", webhook],
    forwards ? ["  forwards", to.forward] : ["  inbox", to.db],
    ["  dashboard", forwards && dashboard ? `${dashboard} (${appFile} here)` : dashboard],
  ];
  const isUsual = Number(new URL(url).port) === playgroundPort;
  const trigger = `  ${program()} trigger report.complete`;
  return [
    terminal.paint("bold", "The playground is running; Ctrl-C ends it."),
    "",
    ...pairs(facts, terminal),
    ...(forwards ? forYourApp(playground) : []),
    "",
    "Send a notification from another terminal:",
    "",
    isUsual ? trigger : `${trigger} \\\n    --to ${quoted(webhook)}`,
    "",
    hasKeys ? "or press a key here:" : "or type a letter here, then Enter:",
    "",
    ...(hasKeys ? keys(forwards) : letters(forwards)),
    "",
  ];
}

function forYourApp({ url, options: { apiKey } }: Playground): string[] {
  const isPublic = apiKey === publicKey;
  const variables = isPublic
    ? "these variables"
    : "this variable, and the same REPORTS_API_KEY as here";
  const key = isPublic ? ` REPORTS_API_KEY=${apiKey}` : "";
  return [
    "",
    `Start your app with ${variables}:`,
    "",
    `  REPORTS_URL=${quoted(url)}${key}`,
    "",
    "To see what your handlers do, run in your app's folder:",
    "",
    `  ${program()} inbox list --newest-first`,
  ];
}

/** The letters that the playground accepts, each with Enter. */
export function letters(forwards: boolean): string[] {
  return [
    "  t  send a test notification",
    `  n  request a new report, which is complete after ${completeMs / 1_000} seconds`,
    ...(forwards ? [] : ["  b  break the handler", "  f  fix it"]),
    "  q  quit",
  ];
}

/** The keys that the playground accepts on a terminal. */
export function keys(forwards: boolean): string[] {
  return [
    "  ↑ ↓  choose a notification, which the last line shows",
    "  r  send it again, with a new signature",
    "  d  its details",
    "  o  open it in a browser",
    ...letters(forwards),
  ];
}
