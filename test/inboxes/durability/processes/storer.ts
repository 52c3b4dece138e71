import { createReceiver } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";

// One of several processes on a file: stores and handles as fast as it can, then prints which ones it handled.
const [path = "", name = "", number = ""] = process.argv.slice(2);
const receiver = createReceiver({
  client: { authorize: async () => "valid" },
  inbox: sqliteInbox(path),
});
const handled: string[] = [];
receiver.on("*", ({ id }) => void handled.push(id));
await receiver.start();
process.send?.("started");
await new Promise((resolve) => process.once("message", resolve));

async function store(one: number): Promise<void> {
  const body = JSON.stringify({ status: "complete", report_id: `${name}-${one}`, padding });
  const headers = { "x-svc-authorization": `${name}-${one}`, "content-type": "application/json" };
  for (;;) {
    const request = new Request("https://app.example/hook", { method: "POST", headers, body });
    if ((await receiver.fetch(request)).status === 200) return;
  }
}

const padding = "x".repeat(4_000);
let next = 0;
const lane = async (): Promise<void> => {
  while (next < Number(number)) await store(next++);
};
await Promise.all(Array.from({ length: 8 }, lane));
await receiver.idle({ timeoutMs: 120_000 });
await receiver.close();
process.send?.(handled);
process.disconnect();
