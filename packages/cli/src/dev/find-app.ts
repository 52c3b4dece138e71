import { ask } from "../lib/ask.ts";
import { webhookPath } from "../lib/environment.ts";
import { codeOf, exchange } from "../lib/exchange.ts";
import type { Terminal } from "../lib/terminal.ts";

/** The ports where apps usually listen. */
export const usualPorts: readonly number[] = [3000, 3001, 4000, 5000, 5173, 8000, 8080, 8787];

const paths = [webhookPath, `/api${webhookPath}`];
const patienceMs = 1_000;

/** Finds apps on this machine and asks which one to forward to; undefined if there is none, or none is wanted. */
export async function chooseApp(terminal: Terminal): Promise<string | undefined> {
  const urls = usualPorts.flatMap((port) => paths.map((path) => `http://localhost:${port}${path}`));
  const work = (): Promise<boolean[]> => Promise.all(urls.map(isReceiver));
  const found = await terminal.during("Looking for your app", work);
  for (const [index, url] of urls.entries()) {
    if (!found[index]) continue;
    terminal.tell(`A webhook is running at ${url}.`);
    if (await ask("Forward notifications there, instead of to the playground's own?")) return url;
  }
  return undefined;
}

/** Whether a receiver answers there. It refuses plain text by its code, and keeps nothing of it. */
async function isReceiver(url: string): Promise<boolean> {
  const headers = { "content-type": "text/plain" };
  const question = { headers, body: "reporthook dev: is there a webhook?" };
  return codeOf(await exchange(url, question, patienceMs)) === "unsupported_media_type";
}
