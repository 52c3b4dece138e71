import { playgroundPort, program, publicKey } from "../lib/environment.ts";
import { pairs, quoted } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";
import { appFile } from "./app-inbox.ts";
import { completeMs, type Playground } from "./playground.ts";

/** The lines printed when the playground is ready, but for the keys. */
export function welcome(playground: Playground, terminal: Terminal): string[] {
  const { url, webhook, dashboard, forwards } = playground;
  const { to } = playground.options;
  const facts: (readonly [string, string | null])[] = [
    ["  service", `${url} (emulated)`],
    ["  webhook", webhook],
    "forward" in to ? ["  forwards", to.forward] : ["  inbox", to.db],
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

/** The keys that the playground accepts; without `hasKeys` they are letters, each with Enter. */
export function keyLines({ forwards }: Playground, hasKeys: boolean): string[] {
  return [
    ...(hasKeys ? ["  ↑ ↓  choose a notification, which the last line shows"] : []),
    `  r  send ${hasKeys ? "it" : "the newest"} again, with a new signature`,
    "  d  its details",
    "  o  open it in a browser",
    "  t  send a test notification",
    `  n  request a new report, which is complete after ${completeMs / 1_000} seconds`,
    ...(forwards ? [] : ["  b  break the handler", "  f  fix it"]),
    "  q  quit",
  ];
}
