import { spawn } from "node:child_process";
import { platform } from "node:process";
import { isLoopback } from "@reporthook/core/store";
import { CommandFailed, exitStatusOf } from "../lib/errors.ts";
import { untilEnd } from "../lib/listen.ts";
import type { Terminal } from "../lib/terminal.ts";
import { chosenLine, detailLines } from "./details.ts";
import { readKeys, readLetters } from "./keyboard.ts";
import type { Playground } from "./playground.ts";
import { keys, letters, welcome } from "./welcome.ts";

/** Says that the playground is ready, and does what is typed until it is ended. */
export async function operate(
  terminal: Terminal,
  playground: Playground,
  isQuiet: boolean,
): Promise<void> {
  const { url, webhook, dashboard, options } = playground;
  const hasKeys = !isQuiet && terminal.hasKeys;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  // Listen for signals before the URL is printed.
  const ended = untilEnd(ending.signal);
  terminal.emit({ what: "ready", url, webhook, ...(dashboard && { dashboard }), ...options.to });
  if (!isQuiet) {
    terminal.print(welcome(playground, terminal, hasKeys).join("\n"));
    warnOfOthers(terminal, playground);
  }
  const footer = hasKeys ? (): string => chosenLine(playground) : null;
  const drawFooter = (): void => {
    if (!ending.signal.aborted) terminal.footer(footer);
  };
  const press = (key: string): void => {
    act(terminal, playground, key, hasKeys)
      .catch((error: unknown) => terminal.print(terminal.clean(exitStatusOf(error).message)))
      .finally(drawFooter);
  };
  const input = hasKeys ? readKeys(press, end, drawFooter) : readLetters(press, end);
  drawFooter();
  try {
    await ended;
  } finally {
    end();
    terminal.footer(null);
    input.close();
    process.stdin.destroy();
  }
}

function warnOfOthers(terminal: Terminal, { dashboard, options: { host } }: Playground): void {
  if (isLoopback(host)) return;
  const rest = dashboard === null ? "" : "; its dashboard answers only this machine";
  terminal.tell(`Everyone who can reach ${host} can use the playground${rest}.`);
}

async function act(
  terminal: Terminal,
  playground: Playground,
  key: string,
  hasKeys: boolean,
): Promise<void> {
  const forwards = "forward" in playground.options.to;
  if (key === "t") return playground.test();
  // Before there were keys, r requested a report.
  if (key === "n" || (key === "r" && !hasKeys)) return playground.request();
  if (!forwards && (key === "b" || key === "f")) {
    playground.broken = key === "b";
    return terminal.print(
      playground.broken ? "The handler is broken; f fixes it." : "The handler is fixed.",
    );
  }
  if (hasKeys && (await actOnChosen(terminal, playground, key))) return;
  if (key === "" || key === "return" || key === "enter") return;
  terminal.print((hasKeys ? keys(forwards) : letters(forwards)).join("\n"));
}

/** Does what a key means for the chosen notification; false if it means something else. */
async function actOnChosen(
  terminal: Terminal,
  playground: Playground,
  key: string,
): Promise<boolean> {
  const { history } = playground;
  if (key === "↑" || key === "↓") {
    history.choose(key === "↑" ? -1 : 1);
    return true;
  }
  if (key === "o") {
    open(terminal, playground);
    return true;
  }
  if (key !== "r" && key !== "d") return false;
  const { chosen } = history;
  if (chosen === undefined) {
    throw new CommandFailed("none_chosen", "There is no notification yet: t sends one");
  }
  if (key === "r") await playground.sendAgain(chosen);
  else terminal.print((await detailLines(chosen, playground, terminal)).join("\n"));
  return true;
}

function open(terminal: Terminal, { dashboard, history }: Playground): void {
  if (dashboard === null) {
    throw new CommandFailed("no_page", "The dashboard answers only this machine: omit --host");
  }
  const id = history.chosen?.id;
  const url = id === null || id === undefined ? dashboard : `${dashboard}?delivery=${id}`;
  terminal.print(`The page is ${url}`);
  openBrowser(url);
}

/** Opens an address in the user's browser, if there is one. */
function openBrowser(url: string): void {
  const commands: Partial<Record<NodeJS.Platform, readonly string[]>> = {
    darwin: ["open"],
    win32: ["rundll32", "url.dll,FileProtocolHandler"],
  };
  const [command = "", ...args] = commands[platform] ?? ["xdg-open"];
  const opening = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  // A machine without a browser: the address was printed.
  opening.once("error", () => {});
  opening.unref();
}
