import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { describe, expect, it } from "vitest";
import { openApp } from "./app.ts";
import { cliJson, programFile } from "./process.ts";

const folder = temporaryFolder();

/** Prints the exit code of the first of two programs. */
const tellCode = "echo $PIPESTATUS";

/** Runs a line of a shell with the command line as `reporthook`. */
function inShell(line: string): { out: string; err: string } {
  const reporthook = `reporthook() { "${process.execPath}" "${programFile()}" "$@"; }`;
  const { stdout, stderr } = spawnSync("bash", ["-c", `${reporthook}\n${line}`], { cwd: folder });
  return { out: stdout.toString(), err: stderr.toString() };
}

describe("an output that is not taken", () => {
  it("the exit code is the command's when nobody reads its output", () => {
    const { out, err } = inShell(`reporthook --help | sleep 0; ${tellCode}`);
    expect([out, err]).toEqual(["0\n", ""]);
  });

  it("the deliveries that are named are all released when the disk of the output is full, and the failure is told", async () => {
    const db = join(folder, "inbox.db");
    const app = openApp(db);
    const ids = [await app.send("unknown"), await app.send("unknown"), await app.send("unknown")];
    await app.finish();
    const line = `reporthook inbox release ${ids.join(" ")} --db inbox.db > /dev/full; echo "$?"`;
    const { out, err } = inShell(line);
    expect([out, err]).toEqual(["1\n", expect.stringContaining("can't be written (ENOSPC)")]);
    const { value } = await cliJson(["inbox", "list", "--db", db]);
    expect(value).toMatchObject({ entries: ids.map((id) => ({ id, state: "verified" })) });
  });

  it("a playground ends when nobody reads its output", () => {
    const line = `reporthook dev --port 0 --db dev.db < /dev/null | sleep 0; ${tellCode}`;
    expect(inShell(line)).toEqual({ out: "0\n", err: "" });
  });
});
