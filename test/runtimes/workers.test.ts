import { createEmulator, type Emulator, type NotificationOptions } from "@reporthook/emulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runtimes } from "./runtimes.ts";
import { type RunningWorker, runWorker } from "./workerd.ts";

const [workerd] = runtimes.filter(({ kind }) => kind === "worker");

// Its receivers live on from request to request: what one leaves behind must not hurt the next.
describe.each([
  ["without Node's modules", []],
  ["with nodejs_compat", ["nodejs_compat"]],
])("%s", (_name, flags) => {
  let emulator: Emulator;
  let worker: RunningWorker;

  beforeAll(async () => {
    if (workerd === undefined) throw new Error("There is no workerd");
    emulator = createEmulator();
    const { url } = await emulator.listen();
    const bindings = { REPORTS_URL: url, REPORTS_API_KEY: emulator.clientOptions.apiKey };
    worker = await runWorker(workerd.command, "app-on-workerd.js", { bindings, flags });
  });
  afterAll(async () => {
    await worker.end();
    await emulator.close();
  });

  const send = async (name: string, options: NotificationOptions = {}): Promise<number> => {
    const sent = emulator.notification("report.complete", options);
    return (await fetch(`${worker.url}/${name}`, sent)).status;
  };
  const handled = async (): Promise<Record<string, number>> =>
    (await (await fetch(`${worker.url}/handled`)).json()) as Record<string, number>;
  const untilHandled = (more: Record<string, number>): Promise<void> =>
    expect.poll(handled).toEqual(more);

  test("a Worker refuses a memory inbox when it is made, and says what to do", async () => {
    const refused = await (await fetch(`${worker.url}/refused`)).text();
    expect(refused).toContain("on Cloudflare Workers");
    expect(refused).toContain("memoryInbox({ acceptLoss: true })");
  });

  test("a Worker answers each request, the signed, the forged and the unsigned", async () => {
    for (const signature of ["valid", "invalid", "none"] as const) {
      const answers = ["handled", "before-ack", "stored"].map((name) => send(name, { signature }));
      const due = { valid: [200, 200, 200], invalid: [401, 401, 200], none: [401, 200, 200] };
      expect(await Promise.all(answers)).toEqual(due[signature]);
    }
    await untilHandled({ handled: 1, "before-ack": 1, stored: 1 });
  });

  test("a Worker has waitUntil cover all stored deliveries, also of many requests at a time", async () => {
    const names = ["handled", "before-ack", "stored"].flatMap((name) => Array(40).fill(name));
    const answers = await Promise.all(names.map((name) => send(name)));
    expect(new Set(answers)).toEqual(new Set([200]));
    await untilHandled({ handled: 41, "before-ack": 41, stored: 41 });
  });

  test("a Worker asks again, without another request, and answers on after the service was away", async () => {
    const end = emulator.fault("authorize", { status: 503 });
    for (let count = 0; count < 6; count++) {
      expect(await send("handled")).toBe(503);
      expect(await send("before-ack")).toBe(200);
      expect(await send("stored")).toBe(200);
    }
    end();
    await untilHandled({ handled: 41, "before-ack": 47, stored: 47 });
    // It has nobody asked before its pause is over.
    await expect.poll(() => send("handled")).toBe(200);
    expect(await send("stored")).toBe(200);
    await untilHandled({ handled: 42, "before-ack": 47, stored: 48 });
  });
});
