import { spawn } from "node:child_process";
import { once } from "node:events";
import { platform } from "node:process";
import { isLoopback } from "@reporthook/core/store";
import { CommandFailed, exitStatusOf } from "../lib/errors.ts";
import { endOfCommand } from "../lib/listen.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { History, SentNotification } from "./history.ts";
import { readKeys } from "./keyboard.ts";
import type { Playground } from "./playground.ts";
import { chosenLine, detailLines, keyLines, welcome } from "./view.ts";

/** Says that the playground is ready, and does what is typed until it is ended. */
export async function operate(
  terminal: Terminal,
  playground: Playground,
  isQuiet: boolean,
): Promise<void> {
  const { url, webhook, dashboard, options } = playground;
  const hasKeys = !isQuiet && terminal.hasKeys;
  const help = keyLines(playground, hasKeys);
  // Listen for signals before the URL is printed.
  const ending = endOfCommand();
  const ended = once(ending.signal, "abort");
  const end = (): void => ending.abort();
  const typing = hasKeys ? "or press a key here:" : "or type a letter here, then Enter:";
  const lines = [...welcome(playground, terminal), "", typing, "", ...help, ""];
  const ready = { what: "ready", url, webhook, ...(dashboard && { dashboard }), ...options.to };
  terminal.emit(ready, isQuiet ? [] : lines);
  if (!isQuiet && !isLoopback(options.host)) {
    const rest = dashboard === null ? "" : "; its dashboard answers only this machine";
    terminal.tell(`Everyone who can reach ${options.host} can use the playground${rest}.`);
  }
  const footer = hasKeys ? (): string => chosenLine(playground) : null;
  const drawFooter = (): void => {
    if (!ending.signal.aborted) terminal.footer(footer);
  };
  const press = (key: string): void => {
    act(terminal, playground, key, help)
      .catch((error: unknown) => terminal.print(terminal.clean(exitStatusOf(error).message)))
      .finally(drawFooter);
  };
  const input = readKeys(hasKeys, { press, end, resumed: drawFooter });
  drawFooter();
  await ended;
  terminal.footer(null);
  input.close();
  process.stdin.destroy();
}

/** Does what a key means; one that means nothing shows `help`. */
async function act(
  terminal: Terminal,
  playground: Playground,
  key: string,
  help: readonly string[],
): Promise<void> {
  const { history } = playground;
  switch (key) {
    case "↑":
      return history.choose(-1);
    case "↓":
      return history.choose(1);
    case "r":
      return playground.sendAgain(chosenOf(history));
    case "d":
      return terminal.print(await detailLines(chosenOf(history), playground, terminal));
    case "o":
      return open(terminal, playground);
    case "t":
      return playground.test();
    case "n":
      return playground.request();
    case "":
    case "return":
    case "enter":
      return;
  }
  if (playground.forwards || (key !== "b" && key !== "f")) return terminal.print(help);
  playground.broken = key === "b";
  terminal.print(
    playground.broken ? "The handler is broken; f fixes it." : "The handler is fixed.",
  );
}

function chosenOf({ chosen }: History): SentNotification {
  if (chosen !== undefined) return chosen;
  throw new CommandFailed("none_chosen", "There is no notification yet: t sends one");
}

/** Tells the page of the chosen notification, and opens it in the user's browser, if there is one. */
function open(terminal: Terminal, { dashboard, history }: Playground): void {
  if (dashboard === null) {
    throw new CommandFailed("no_page", "The dashboard answers only this machine: omit --host");
  }
  const id = history.chosen?.id ?? null;
  const url = id === null ? dashboard : `${dashboard}?delivery=${id}`;
  terminal.print(`The page is ${url}`);
  const commands: Partial<Record<NodeJS.Platform, readonly string[]>> = {
    darwin: ["open"],
    win32: ["rundll32", "url.dll,FileProtocolHandler"],
  };
  const [command = "", ...args] = commands[platform] ?? ["xdg-open"];
  const opening = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  opening.once("error", () => {});
  opening.unref();
}
