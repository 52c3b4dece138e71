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
import { endAll, nodeOnTerminal, type Running, startNode, widest } from "../cli/process.ts";

const folder = temporaryFolder();
afterAll(endAll);

const source = ["--conditions=@reporthook/source", "--import", "tsx", "scripts/tour/main.ts"];

const startTour = (...given: string[]): Running => startNode([...source, "--port", "0", ...given]);

/** The tour to its end: its exit code, and all that it printed. */
async function ended(tour: Running): Promise<readonly [code: number | null, text: string]> {
  const { code, out, progress, err } = await tour.ended();
  return [code, out + progress + err];
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

    const [code, first] = await ended(startTour("--exit", "--db", file));
    expect([code, first]).toEqual([0, expect.any(String)]);
    expect(first).toContain("deliveries of the last time: 1 received");
    expect(first).toContain("1 finished now");
    expect(first.match(/The service is up/g)).toHaveLength(1);
    expect(first).not.toContain("\u001b");

    const [codeOfSecond, second] = await ended(startTour("--exit", "--db", file));
    expect(codeOfSecond).toBe(0);
    expect(second).toContain("deliveries of the last time: 4 handled, 1 rejected");
    expect(second).toContain("nothing was left to do");
  });

  it("the tour stays up until Ctrl-C, also when it was killed before", async () => {
    const file = join(folder, "killed.db");
    const killed = startTour("--db", file);
    await killed.printed("The app stays up");
    killed.child.kill("SIGKILL");
    await killed.ended();

    const again = startTour("--db", file);
    await again.printed("The app stays up");
    expect(again.out()).toContain("The inbox holds deliveries of the last time");
    await again.printed("Command failed");
    const [, closing = ""] = again.out().split("The app stays up");
    expect(widest(closing)).toBeLessThanOrEqual(80);
    again.child.kill("SIGINT");
    expect(await ended(again)).toEqual([0, expect.stringContaining("Closing")]);
  });

  it("the tour says in one sentence which of its options can't be", async () => {
    const server = createServer();
    const { port } = new URL(await listenLocally(server));
    const file = join(folder, "options.db");
    const said = `\nPort ${port} is taken: give another one, or leave --port out\n`;
    expect(await ended(startTour("--exit", "--db", file, "--port", String(port)))).toEqual([
      1,
      expect.stringMatching(new RegExp(`${said}$`)),
    ]);
    server.close();
    for (const [given, said] of [
      [["--port", ""], '--port takes a number from 0 to 65535, not ""'],
      [["--port"], "Option '--port <value>' argument missing"],
    ] as const) {
      const [code, text] = await ended(startTour(...given));
      expect([code, text]).toEqual([1, expect.stringContaining(said)]);
      expect(text).not.toMatch(/^ +at /m);
    }
  });

  it("the tour has help in 80 columns, and points to it when an option is unknown", async () => {
    const [code, help] = await ended(startTour("--help"));
    expect([code, help]).toEqual([0, expect.stringContaining("--db FILE")]);
    expect(widest(help)).toBeLessThanOrEqual(80);
    const said = "\nUnknown option '--bogus'; --help shows what there is\n";
    expect(await ended(startTour("--bogus"))).toEqual([1, said]);
  });

  testWith(missingProgram("script", "bsdutils"))(
    "the tour shows a spinner on a terminal, without colour where NO_COLOR is set",
    async () => {
      const onTerminal = (db: string, env: Record<string, string>): string => {
        const tour = [...source, "--exit", "--port", "0", "--db", join(folder, db)];
        const { status, shown } = nodeOnTerminal(tour, { env, columns: 100 });
        expect([status, shown]).toEqual([0, expect.stringContaining("✔")]);
        return shown;
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
