import { createClient, createReceiver, memoryInbox, type Receiver } from "@reporthook/core";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

let emulator: Emulator;
let path: string;
const made: Receiver[] = [];
const handled: string[] = [];
const lines: string[] = [];

beforeEach(() => {
  emulator = createEmulator();
  path = temporaryPath();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const receiver of made.splice(0)) await receiver.close();
  await emulator.close();
  handled.splice(0);
  lines.splice(0);
});

/** The code of an app's module, which runs each time that the module is evaluated. */
function evaluate(version: string, inMemory: boolean): Receiver {
  const warn = (_: unknown, message: string) => void lines.push(message);
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    inbox: inMemory ? memoryInbox() : sqliteInbox(path),
    logger: { warn, error: warn },
    name: `evaluated-${inMemory ? "memory" : "sqlite"}`,
  });
  made.push(receiver);
  return receiver.on("report", () => void handled.push(version));
}

const send = (receiver: Receiver) =>
  receiver.fetch(new Request("https://app.example/hook", emulator.notification("report.complete")));

test.each([
  ["SQLite", false],
  ["memory", true],
])(
  "a receiver made again takes over in development, its inbox in %s: its handlers run, also for a request to the old one",
  async (_name, inMemory) => {
    vi.stubEnv("NODE_ENV", "development");
    const first = evaluate("first", inMemory);
    await first.start();
    expect((await send(first)).status).toBe(200);
    await first.idle();
    const second = evaluate("second", inMemory);
    const third = evaluate("third", inMemory);
    for (const receiver of [first, second, third]) expect((await send(receiver)).status).toBe(200);
    await third.idle();
    expect(handled).toEqual(["first", "third", "third", "third"]);
    await first.close();
    await second.close();
    expect((await first.health()).ready).toBe(false);
    expect(lines).toEqual([1, 2].map(() => expect.stringContaining("Receiver replaced")));
  },
);

test("the line of the documentation keeps one receiver in production, and makes a new one in development", async () => {
  // docs/nextjs.md, evaluated in two bundles.
  const module = () => {
    const kept = (process.env["NODE_ENV"] === "development" ? {} : globalThis) as {
      reports?: Receiver;
    };
    return () => (kept.reports ??= evaluate("a version", false));
  };
  const [one, two] = [module(), module()];
  expect(one()).toBe(two());
  await one().close();
  delete (globalThis as { reports?: Receiver }).reports;
  vi.stubEnv("NODE_ENV", "development");
  const [saved, again] = [module(), module()];
  expect(saved()).toBe(saved());
  expect(again()).not.toBe(saved());
  expect((await send(saved())).status).toBe(200);
  await again().idle();
  expect(handled).toEqual(["a version"]);
});
