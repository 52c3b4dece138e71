import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "node:util";
import { bullmqMessages } from "@reporthook/bullmq/internals";
import { createClient, createReceiver, memoryInbox, type Receiver } from "@reporthook/core";
import { messages as coreMessages } from "@reporthook/core/internals";
import { dashboardMessages } from "@reporthook/dashboard/internals";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { silentArrivals } from "./silent-arrivals.ts";
import type { SilentCase } from "./silent-case.ts";
import { silentWork } from "./silent-work.ts";

const silentCases: readonly SilentCase[] = [...silentArrivals, ...silentWork];
const patient = { timeout: 20_000 };

interface Scene {
  readonly emulator: Emulator;
  readonly receiver: Receiver;
  readonly output: string[];
  /** Delivers a genuine notification as the case says. */
  send(): Promise<unknown>;
  /** The lines of the case so far. */
  said(): readonly string[];
}

async function sceneOf({ options, sent = {}, before, deliver, says }: SilentCase): Promise<Scene> {
  const output: string[] = [];
  const write = (...parts: unknown[]): void => void output.push(format(...parts));
  vi.spyOn(console, "warn").mockImplementation(write);
  vi.spyOn(console, "error").mockImplementation(write);
  onTestFinished(() => void vi.restoreAllMocks());
  const emulator = createEmulator();
  const given = options?.() ?? {};
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    clock: emulator.clock,
    ...(given.ack !== "handled" && { inbox: memoryInbox() }),
    ...given,
  });
  onTestFinished(async () => {
    await receiver.close({ timeoutMs: 0 });
    await emulator.close();
  });
  await before?.(emulator, receiver);

  function send(): Promise<unknown> {
    const notification = emulator.notification("report.complete", {
      ...(sent.unsigned && { signature: "none" as const }),
      ...(sent.body !== undefined && { body: sent.body as never }),
    });
    const body = sent.body ?? notification.body;
    const request = new Request(`https://app.example/hook${sent.query ?? ""}`, {
      method: "POST",
      headers: { ...notification.headers, ...sent.headers },
      ...(sent.streamed || sent.cutOff
        ? { body: streamOf(body, sent.cutOff), duplex: "half" }
        : { body }),
    } as RequestInit);
    return deliver === undefined ? receiver.fetch(request) : deliver(receiver, request);
  }

  const said = () => output.filter((line) => line.includes(says));
  return { emulator, receiver, output, send, said };
}

/** A body that comes in a stream, whole or broken off. */
function streamOf(body: string | Uint8Array, cutOff = false): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(stream) {
      stream.enqueue(typeof body === "string" ? new TextEncoder().encode(body) : body);
      if (cutOff) stream.error(new Error("broken off"));
      else stream.close();
    },
  });
}

/** The lines of docs/logs.md that someone is to act on: message and level. */
function documented(): readonly (readonly [message: string, level: string])[] {
  const text = readFileSync(fileURLToPath(new URL("../../docs/logs.md", import.meta.url)), "utf8");
  const rows = text.matchAll(/^- `([^`]+)` \(((?:warn|error)[^)]*)\)$/gm);
  return [...rows].map(([, message = "", level = ""]) => [message, level]);
}

test.each(silentCases)("the default logger tells the way out when $when", async (given) => {
  const { output, send, said } = await sceneOf(given);
  await send();
  await vi.waitFor(() => expect(said()[0], output.join("\n")).toBeDefined(), patient);
  expect(said()[0]).toContain(given.shows ?? "");
  // Nothing from outside steers a terminal or begins a line.
  expect(output.join("\n")).not.toMatch(/[^\P{Cc}\n]|[\u2028-\u202e]/u);
  expect(output.join("\n")).not.toMatch(/^reporthook: forged/m);
});

describe("repeated lines", () => {
  const seldom = documented().filter(([, level]) => level.endsWith("once a minute"));
  const often = silentCases.filter(({ says }) => seldom.some(([text]) => text.includes(says)));
  test.each(often)("the default logger counts for a minute when $when", async (given) => {
    const { emulator, output, send, said } = await sceneOf(given);
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
    for (let sent = 0; sent < 3; sent++) await send();
    await turns();
    await vi.waitFor(() => expect(said(), output.join("\n")).toHaveLength(1), patient);
    await emulator.clock.advance(60_000);
    await send();
    await vi.waitFor(() => expect(said().length, output.join("\n")).toBeGreaterThan(1), patient);
    expect(said()[1]).toMatch(given.rare ? /count: \d/ : /count: ([2-9]|\d\d)/);
  });
});

test("each line that someone is to act on has its case, or another test", () => {
  const elsewhere = [
    coreMessages.notHandledInTime,
    coreMessages.noVerdictInTime,
    coreMessages.verdictsAgain,
    coreMessages.closedWhileWaiting,
    coreMessages.interrupted,
    coreMessages.insecure,
    coreMessages.clockSet,
    coreMessages.receiverReplaced,
    coreMessages.earlierNotClosed,
    coreMessages.stoodStill,
    coreMessages.tookOver,
    // reports.test.ts
    coreMessages.anotherEnd,
    // receiver-retention.test.ts
    coreMessages.parkedExpiring,
    coreMessages.parkedDeleted,
    coreMessages.parkedMadeRoom,
    "Alert not sent; retrying.",
    bullmqMessages.inboxLost,
    bullmqMessages.parkedLost,
    dashboardMessages.failed,
  ];
  const without = documented()
    .map(([message]) => message)
    .filter((message) => !silentCases.some(({ says }) => message.includes(says)));
  expect(without.sort()).toEqual(elsewhere.sort());
});
