import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  type Alert,
  alerts,
  type Clock,
  createClient,
  createReceiver,
  type Receiver,
} from "@reporthook/core";
import { systemClock } from "@reporthook/core/store";
import { dashboard } from "@reporthook/dashboard";
import { createEmulator, type Emulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { loadDriver } from "@reporthook/sqlite/internals";
import { fill, mountTiny } from "@reporthook/test-support/mounts";
import { missingForMounts, testWith } from "@reporthook/test-support/needs";
import { programOf } from "@reporthook/test-support/program";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Terminal } from "#cli";
import { createProgram } from "#cli";

const minute = 60_000;
const stepMs = 5_000;
const otherProcess = await programOf(new URL("other-process.ts", import.meta.url));

/** The facts that each place shows at one moment. */
interface Story {
  readonly ready: boolean;
  /** The codes of `health()`, with the reasons; all other places show the same. */
  readonly problems: readonly string[];
}

interface Drill {
  readonly emulator: Emulator;
  readonly receiver: Receiver;
  readonly file: string;
  /** The messages of the log, each once. */
  log(): string[];
  send(many?: number): Promise<number[]>;
  /** Lets time pass, and the work of each step be done. */
  pass(ms: number): Promise<void>;
  /** Fails unless all places tell the same. */
  story(): Promise<Story>;
  /** Fails unless another process, which reads the file, shows these before the longest time between two signs of life is over. */
  othersSee(problems: readonly string[]): Promise<void>;
}

type Named = Pick<Alert, "code" | "severity" | "reason">;

const nameOf = ({ code, severity, reason }: Named): string =>
  [severity, code, reason].filter((part) => part !== null).join(" ");

/** An app on a file, with alerts and a dashboard, on virtual time. */
function begin(
  handlers: (receiver: Receiver) => void,
  { clock, ownDisk = false }: { readonly clock?: Clock; readonly ownDisk?: boolean } = {},
): Drill {
  const folder = temporaryFolder();
  if (ownDisk) mountTiny(folder);
  const file = join(folder, "inbox.db");
  const emulator = createEmulator();
  const inbox = sqliteInbox(file);
  const open = new Map<string, Alert>();
  const lines = new Set<string>();
  const write = (_: unknown, message: string): void => void lines.add(message);
  const receiver = createReceiver({
    inbox,
    client: createClient(emulator.clientOptions),
    clock: clock ?? emulator.clock,
    logger: { warn: write, error: write },
    observe: alerts({
      send: (alert) => {
        const key = `${alert.code} ${alert.reason}`;
        if (alert.state === "firing") open.set(key, alert);
        else open.delete(key);
      },
    }),
  });
  receiver.on(["report.processing", "test_webhook_endpoint"], () => {});
  handlers(receiver);
  const page = dashboard(receiver, { logger: false });
  onTestFinished(async () => {
    await receiver.close({ timeoutMs: 0 }).catch(() => {});
    await emulator.close();
  });
  const ask = async (path: string): Promise<Response> =>
    page(new Request(`http://localhost/inbox/${path}`), { peer: "127.0.0.1" });
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      emulator.clock.advance(stepMs);
      // Each asks the thread, behind what it has to do.
      for (let turn = 0; turn < 6; turn++) await receiver.inbox.counts().catch(() => {});
    }
  }
  return {
    emulator,
    receiver,
    file,
    pass,
    log: () => [...lines],
    async send(many = 1) {
      const answers: number[] = [];
      for (let sent = 0; sent < many; sent++) {
        const notification = emulator.notification("report.complete");
        const request = new Request("http://localhost/hook", notification);
        answers.push((await receiver.fetch(request)).status);
      }
      return answers;
    },
    async othersSee(problems) {
      let seen = await statsOf(file);
      for (
        let passed = 0;
        passed < minute && !isDeepStrictEqual(seen, problems);
        passed += stepMs
      ) {
        await pass(stepMs);
        seen = await statsOf(file);
      }
      expect(seen).toEqual(problems);
    },
    async story() {
      const { ready, problems } = await receiver.health();
      const names = problems.map(nameOf);
      const told = async () =>
        expect([...open.values()].map(nameOf).sort()).toEqual(names.toSorted());
      await vi.waitFor(told, { timeout: 60_000 });
      const shown = (await (await ask("api/overview")).json()) as { problems: Named[] };
      expect(shown.problems.map(nameOf)).toEqual(names);
      const metrics = await (await ask("metrics")).text();
      const measured = [...metrics.matchAll(/^reporthook_problem\{(.*)\} 1$/gm)].map(
        ([, labels = ""]) => {
          const [, code] = /(?:^|,)code="(\w+)"/.exec(labels) ?? [];
          const [, severity] = /(?:^|,)severity="(\w+)"/.exec(labels) ?? [];
          return `${severity} ${code}`;
        },
      );
      const withoutReasons = problems.map(({ code, severity }) => `${severity} ${code}`);
      expect(measured.sort()).toEqual([...new Set(withoutReasons)].sort());
      return { ready, problems: names };
    },
  };
}

/** The problems that the command line shows of a file. */
async function statsOf(file: string): Promise<string[]> {
  const printed: { readonly problems: readonly Named[] }[] = [];
  const terminal: Terminal = {
    json: true,
    columns: 80,
    hasKeys: false,
    footer() {},
    print() {},
    tell() {},
    reveal() {},
    emit: (value) => void printed.push(value as (typeof printed)[number]),
    paint: (_style, text) => text,
    during: (_text, work) => work(() => {}),
    clean: (text) => text,
  };
  const asked = ["inbox", "stats", "--json", "--db", file];
  await createProgram(terminal).parseAsync(["node", "reporthook", ...asked]);
  return printed.flatMap(({ problems }) => problems.map(nameOf));
}

/** Another process on the file, which has given a sign of life. */
async function beginOther(file: string): Promise<ChildProcess> {
  const child = fork(otherProcess, [file]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "message");
  return child;
}

describe("drills", () => {
  test("the service answers 500 for 10 minutes", async () => {
    const { emulator, receiver, send, pass, story, othersSee, log } = begin((one) => {
      one.on("report.complete", () => {});
    });
    await send(2);
    await receiver.idle({ timeoutMs: 60_000 });
    await pass(minute);
    expect(await story()).toEqual({ ready: true, problems: [] });
    const end = emulator.fault("authorize", { status: 500 });
    await send(6);
    await pass(minute + 30_000);
    const outage = ["critical no_verdicts", "warning behind"];
    expect(await story()).toEqual({ ready: true, problems: outage });
    await othersSee(outage);
    await pass(2 * minute);
    expect(await story()).toEqual({ ready: true, problems: outage });
    await pass(7 * minute);
    expect(await story()).toEqual({ ready: true, problems: outage });
    expect((await receiver.health()).service).toBe("failing");
    end();
    await pass(6 * minute);
    expect(await story()).toEqual({ ready: true, problems: ["warning parked expired"] });
    await othersSee(["warning parked expired"]);
    expect(log()).toContainEqual(expect.stringMatching(/^No verdict from the service/));
  });

  test("the key is rotated, and the app has the old one", async () => {
    const { emulator, receiver, send, pass, story, othersSee, log } = begin((one) => {
      one.on("report.complete", () => {});
    });
    const end = emulator.fault("authorize", { status: 401 });
    await send(3);
    await pass(minute);
    const refused = ["critical key_refused"];
    expect(await story()).toEqual({ ready: true, problems: refused });
    await othersSee(refused);
    await pass(2 * minute);
    expect(await story()).toEqual({ ready: true, problems: refused });
    await pass(7 * minute);
    expect(await story()).toEqual({ ready: true, problems: refused });
    expect((await receiver.health()).service).toBe("refused");
    end();
    // Five minutes to the next try of an old one, and five more if another is asked about at that moment to see whether the key is right.
    await pass(11 * minute);
    expect(await story()).toEqual({ ready: true, problems: ["warning parked expired"] });
    await othersSee(["warning parked expired"]);
    expect(log()).toContainEqual(expect.stringMatching(/^The service refuses the API key/));
  });

  test("a handler fails for one event: 40 are parked, it is fixed, they are released", async () => {
    let isBroken = true;
    const { receiver, send, pass, story, othersSee, log } = begin((one) => {
      one.on("report.complete", () => {
        if (isBroken) throw new Error("no such column: total");
      });
    });
    await send(40);
    await pass(minute);
    const failing = ["warning handlers_failing"];
    expect(await story()).toEqual({ ready: true, problems: failing });
    await othersSee(failing);
    expect((await receiver.health()).problems[0]).toMatchObject({ count: 40 });
    await pass(2 * minute);
    expect(await story()).toEqual({ ready: true, problems: failing });
    await pass(8 * minute);
    const parked = ["warning parked attempts_used_up"];
    expect(await story()).toEqual({ ready: true, problems: parked });
    await othersSee(parked);
    isBroken = false;
    expect(await receiver.inbox.release({ reason: "attempts_used_up" })).toBe(40);
    await pass(minute);
    expect(await story()).toEqual({ ready: true, problems: [] });
    await othersSee([]);
    expect((await receiver.inbox.counts()).handled).toBe(40);
    expect(log()).toContainEqual(expect.stringMatching(/^Handler failed/));
  });

  testWith(missingForMounts())("the disk is full for 10 minutes", async () => {
    const { file, receiver, send, pass, story, othersSee, log } = begin(
      (one) => one.on("report.complete", () => {}),
      { ownDisk: true },
    );
    expect(await send(1)).toEqual([200]);
    await receiver.idle({ timeoutMs: 60_000 });
    // As long as it reads, no checkpoint makes room in the log.
    const reader = loadDriver().open(file);
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM delivery").get();
    const free = fill(dirname(file));
    for (const minutes of [1, 2, 7]) {
      for (let quarters = 0; quarters < 4 * minutes; quarters++) {
        expect(await send(3)).toEqual([503, 503, 503]);
        await pass(15_000);
      }
      await send(1);
      expect(await story()).toEqual({
        ready: false,
        problems: ["critical inbox_fails", "critical lost"],
      });
      // Only the app knows of the notifications that it turned away: it can't store that.
      await othersSee(["critical inbox_fails"]);
      expect((await receiver.inbox.list()).map(({ state }) => state)).toEqual(["handled"]);
    }
    expect((await receiver.health()).problems[1]?.count).toBe(3 * 40 + 3);
    reader.close();
    free();
    expect(await send(1)).toEqual([200]);
    await pass(minute);
    expect(await story()).toEqual({ ready: true, problems: ["critical lost"] });
    await pass(5 * minute);
    expect((await receiver.health()).problems.map(nameOf)).toEqual(["warning lost"]);
    await pass(56 * minute);
    expect(await story()).toEqual({ ready: true, problems: [] });
    await othersSee([]);
    expect(log()).toContainEqual(expect.stringMatching(/^Notification not stored/));
  });

  test("a process of two hangs, and does not go on", async () => {
    const { receiver, file, pass, story, othersSee } = begin((one) => {
      one.on("report.complete", () => {});
    });
    await receiver.start();
    const child = await beginOther(file);
    expect(await story()).toEqual({ ready: true, problems: [] });
    child.kill("SIGSTOP");
    const stalled = [`warning process_stalled ${child.pid} on ${hostname()}`];
    for (const minutes of [1, 2, 7]) {
      await pass(minutes * minute);
      expect(await story()).toEqual({ ready: true, problems: stalled });
      await othersSee(stalled);
    }
    await pass(51 * minute);
    expect(await story()).toEqual({ ready: true, problems: [] });
    await othersSee([]);
  });

  test("a process of two hangs, and goes on", async () => {
    const { receiver, file, story } = begin(
      (one) => {
        one.on("report.complete", () => {});
      },
      { clock: systemClock },
    );
    await receiver.start();
    const child = await beginOther(file);
    expect((await receiver.health()).problems).toEqual([]);
    child.kill("SIGSTOP");
    const shows = (text: string) => () =>
      vi.waitFor(
        async () => {
          const [problem] = (await receiver.health()).problems;
          expect(problem).toMatchObject({ code: "process_stalled", severity: "warning" });
          expect(problem?.text).toContain(`Process ${child.pid} on ${hostname()} ${text}`);
        },
        { timeout: 60_000, interval: 200 },
      );
    await shows("has been silent for 1")();
    const { problems } = await story();
    expect(problems).toEqual([`warning process_stalled ${child.pid} on ${hostname()}`]);
    expect(await statsOf(file)).toEqual(problems);
    child.kill("SIGCONT");
    const told: (string | undefined)[] = [];
    do {
      const [problem] = (await receiver.health()).problems;
      told.push(problem?.text.replace(/ (has been silent|stood still) .*/, ""));
      if (problem?.text.includes("stood still")) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    } while (told.length < 600);
    // Not a moment without the problem: an alert would end, and fire again.
    expect(new Set(told)).toEqual(new Set([`Process ${child.pid} on ${hostname()}`]));
    expect(await statsOf(file)).toEqual(problems);
    child.send("end");
    await once(child, "exit");
    const over = async () => expect((await receiver.health()).problems).toEqual([]);
    await vi.waitFor(over, { timeout: 60_000, interval: 200 });
    expect(await statsOf(file)).toEqual([]);
  });
});
