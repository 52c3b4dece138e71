import { CommandFailed, exitStatusOf } from "../lib/errors.ts";
import { isLoopback, untilEnd } from "../lib/listen.ts";
import type { Terminal } from "../lib/terminal.ts";
import { openBrowser } from "./browser.ts";
import { chosenLine, detailLines } from "./details.ts";
import { readKeys, readLetters } from "./keyboard.ts";
import type { Playground } from "./playground.ts";
import type { Setting } from "./view.ts";
import { keys, letters, welcome } from "./welcome.ts";

/** A running playground, and how it is operated. */
export interface RunningPlayground extends Setting {
  readonly host: string;
  readonly isQuiet: boolean;
}

/** Says that the playground is ready, and does what is typed until it is ended. */
export async function operate(terminal: Terminal, running: RunningPlayground): Promise<void> {
  const { playground, to, isQuiet } = running;
  const { url, webhook, dashboard } = playground;
  const hasKeys = !isQuiet && terminal.hasKeys;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  // Listen for signals before the URL is printed.
  const ended = untilEnd(ending.signal);
  terminal.emit({ what: "ready", url, webhook, ...(dashboard && { dashboard }), ...to });
  if (!isQuiet) {
    terminal.print(welcome(running, terminal, hasKeys).join("\n"));
    warnOfOthers(terminal, running);
  }
  const footer = hasKeys ? (): string => chosenLine(playground) : null;
  const drawFooter = (): void => {
    if (!ending.signal.aborted) terminal.footer(footer);
  };
  const press = (key: string): void => {
    act(terminal, running, key, hasKeys)
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

function warnOfOthers(terminal: Terminal, { playground, host }: RunningPlayground): void {
  if (isLoopback(host)) return;
  const rest = playground.dashboard === null ? "" : "; its dashboard answers only this machine";
  terminal.tell(`Everyone who can reach ${host} can use the playground${rest}.`);
}

async function act(
  terminal: Terminal,
  { playground, to }: RunningPlayground,
  key: string,
  hasKeys: boolean,
): Promise<void> {
  const forwards = "forward" in to;
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
