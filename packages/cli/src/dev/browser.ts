import { spawn } from "node:child_process";
import { platform } from "node:process";

/** Opens an address in the user's browser, if there is one. */
export function openBrowser(url: string): void {
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
