import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { createClient, createReceiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { listenLocally } from "@reporthook/test-support/listening";
import { missingProgram, testWith } from "@reporthook/test-support/needs";
import { patient } from "@reporthook/test-support/patient";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { afterAll, describe, expect, it } from "vitest";
import { widest } from "../cli/process.ts";

const folder = temporaryFolder();
const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
});

interface Tour {
  readonly child: ChildProcess;
  text(): string;
  /** Resolves once it was printed. */
  printed(text: string): Promise<void>;
  /** Its exit code. */
  ended(): Promise<number | null>;
}

const source = ["--conditions=@reporthook/source", "--import", "tsx", "scripts/tour/main.ts"];

function startTour(...given: string[]): Tour {
  const child = spawn(process.execPath, [...source, "--port", "0", ...given]);
  started.push(child);
  const exit = once(child, "exit");
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  }
  return {
    child,
    text: () => text,
    async printed(expected) {
      await expect.poll(() => text).toContain(expected);
    },
    async ended() {
      const [code] = (await exit) as [number | null];
      return code;
    },
  };
}

describe("pnpm start", () => {
  it("the tour finishes deliveries that the last tour had only acknowledged", async () => {
    const file = join(folder, "left.db");
    const emulator = createEmulator();
    const client = createClient(emulator.clientOptions);
    const inbox = sqliteInbox(file);
    const receiver = createReceiver({ client, inbox, autostart: false, logger: false, ...patient });
    const request = new Request("http://localhost/", emulator.notification("report.complete"));
    expect((await receiver.fetch(request)).status).toBe(200);
    await receiver.close();

    const first = startTour("--exit", "--db", file);
    expect([await first.ended(), first.text()]).toEqual([0, expect.any(String)]);
    expect(first.text()).toContain("deliveries of the last time: 1 received");
    expect(first.text()).toContain("1 finished now");
    expect(first.text().match(/The service is up/g)).toHaveLength(1);
    expect(first.text()).not.toContain("\u001b");

    const second = startTour("--exit", "--db", file);
    expect(await second.ended()).toBe(0);
    expect(second.text()).toContain("deliveries of the last time: 4 handled, 1 rejected");
    expect(second.text()).toContain("nothing was left to do");
  });

  it("the tour stays up until Ctrl-C, also when it was killed before", async () => {
    const file = join(folder, "killed.db");
    const killed = startTour("--db", file);
    await killed.printed("The app stays up");
    killed.child.kill("SIGKILL");
    await killed.ended();

    const again = startTour("--db", file);
    await again.printed("The app stays up");
    expect(again.text()).toContain("The inbox holds deliveries of the last time");
    await again.printed("Command failed");
    const [, closing = ""] = again.text().split("The app stays up");
    expect(widest(closing)).toBeLessThanOrEqual(80);
    again.child.kill("SIGINT");
    expect([await again.ended(), again.text()]).toEqual([0, expect.stringContaining("Closing")]);
  });

  it("the tour says in one sentence which of its options can't be", async () => {
    const server = createServer();
    const { port } = new URL(await listenLocally(server));
    const file = join(folder, "options.db");
    const taken = startTour("--exit", "--db", file, "--port", String(port));
    expect(await taken.ended()).toBe(1);
    expect(taken.text()).toMatch(
      new RegExp(`\nPort ${port} is taken: give another one, or leave --port out\n$`),
    );
    server.close();
    for (const [given, said] of [
      [["--port", ""], '--port takes a number from 0 to 65535, not ""'],
      [["--port"], "Option '--port <value>' argument missing"],
    ] as const) {
      const tour = startTour(...given);
      expect([await tour.ended(), tour.text()]).toEqual([1, expect.stringContaining(said)]);
      expect(tour.text()).not.toMatch(/^ +at /m);
    }
  });

  it("the tour has help in 80 columns, and points to it when an option is unknown", async () => {
    const help = startTour("--help");
    expect(await help.ended()).toBe(0);
    expect(help.text()).toContain("--db FILE");
    expect(widest(help.text())).toBeLessThanOrEqual(80);
    const bogus = startTour("--bogus");
    expect(await bogus.ended()).toBe(1);
    expect(bogus.text()).toBe("\nUnknown option '--bogus'; --help shows what there is\n");
  });

  testWith(missingProgram("script", "bsdutils"))(
    "the tour shows a spinner on a terminal, without colour where NO_COLOR is set",
    async () => {
      const onTerminal = (db: string, env: Record<string, string>): string => {
        const { PATH = "", HOME = "" } = process.env;
        const tour = [`"${process.execPath}"`, ...source, "--exit", "--port", "0", "--db"].join(
          " ",
        );
        const line = `stty cols 100 rows 30; ${tour} "${join(folder, db)}"`;
        const { stdout, status } = spawnSync("script", ["-qec", line, "/dev/null"], {
          env: { PATH, HOME, TERM: "xterm-256color", ...env },
          timeout: 60_000,
        });
        expect([status, stdout.toString()]).toEqual([0, expect.stringContaining("✔")]);
        return stdout.toString();
      };
      const spinner = "⠋";
      const painted = onTerminal("painted.db", {});
      expect(painted).toContain(`\u001b[36m${spinner}`);
      const plain = onTerminal("plain.db", { NO_COLOR: "1" });
      expect(plain).toContain(spinner);
      expect(plain).not.toContain("\u001b[3");
    },
  );
});
