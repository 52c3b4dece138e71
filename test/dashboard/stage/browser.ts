import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const path = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/** The reason why no page can be opened here, or null. */
export function missingForBrowser(): string | null {
  return existsSync(path)
    ? null
    : `no ${path} here: apt-get install chromium, or name another in CHROMIUM`;
}

/** Opens the machine's Chromium, which asks nobody for anything. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: path,
    timeout: 180_000,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
