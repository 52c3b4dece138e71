import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { cli, cliJson, type Failed, programFile, widest } from "./process.ts";

const service = { REPORTS_URL: "http://127.0.0.1:9", REPORTS_API_KEY: "a-key-of-the-tests" };

describe("a wrong command line ends with 2 and one sentence", () => {
  it.concurrent.each([
    ["an unknown command, and the one that may be meant", ["triger"], "Did you mean trigger"],
    ["an unknown option", ["dev", "--colour"], "unknown option '--colour'"],
    ["a missing argument", ["trigger"], "missing required argument 'name'"],
    ["an argument too many", ["dev", "now"], "too many arguments"],
    ["an unknown notification", ["trigger", "report.done"], "report.complete"],
    ["an unknown signature", ["trigger", "report", "--signature", "wrong"], "valid, invalid"],
    ["an address that is none", ["doctor", "--to", "localhost:3000"], "http://localhost:3000"],
    ["no address", ["test"], "'--to <url>' not specified"],
    ["a port that is none", ["dev", "--port", "70000"], "from 0 to 65535"],
    ["an inbox for the app's own", ["dev", "--forward", "http://a", "--db", "b"], "--db"],
    ["no inbox to show", ["dashboard"], "either --db <file> or --inbox <url>"],
    ["a page for everybody", ["dashboard", "--db", "a", "--host", "0.0.0.0"], "authorize"],
    ["no inbox", ["inbox", "list"], "either --db <file> or --inbox <url>"],
    ["an inbox of another kind", ["inbox", "stats", "--inbox", "mysql://a"], "postgresql://"],
    ["an unknown state", ["inbox", "list", "--db", "a", "--state", "lost"], "parked"],
    ["nothing to release", ["inbox", "release", "--db", "a"], "--reason"],
    ["both kinds", ["inbox", "release", "x", "--reason", "poison", "--db", "a"], "--reason"],
    ["a number that is none", ["doctor", "--to", "http://a", "--requests", "0"], "from 1 to"],
  ])("%s", async (_, args, hint) => {
    const { code, out, err } = await cli(args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/^reporthook: [^\n]+\n$/);
    expect(err).toContain(hint);
  });

  it.concurrent.each([
    ["no service", ["test", "--to", "http://a"], {}, "Set REPORTS_URL and REPORTS_API_KEY"],
    ["no key", ["request", "--domain", "a"], { REPORTS_URL: "http://a" }, "Set REPORTS_API_KEY"],
    [
      "a bad service",
      ["test", "--to", "http://a"],
      { ...service, REPORTS_URL: "a" },
      "REPORTS_URL",
    ],
    ["a key in brackets", ["dev"], { REPORTS_API_KEY: "[k]" }, "REPORTS_API_KEY"],
    ["nothing to report on", ["request"], service, "--domain"],
    ["a month that is none", ["request", "--start-date", "2026-13"], service, "start_date"],
  ])("%s", async (_, args, env, hint) => {
    const { code, value } = await cliJson<Failed>(args, { env });
    expect(code).toBe(2);
    expect(value.error.message).toContain(hint);
  });

  it("says so as JSON with --json", async () => {
    const { code, value } = await cliJson(["trigger", "report.done"]);
    expect(code).toBe(2);
    expect(value).toEqual({ error: { code: "usage", message: expect.stringContaining("report") } });
  });
});

describe("--help", () => {
  it.concurrent.each([
    [[]],
    [["dev"]],
    [["trigger"]],
    [["test"]],
    [["request"]],
    [["doctor"]],
    [["inbox"]],
    [["dashboard"]],
  ])("%j shows examples, in 80 columns", async (command) => {
    const { code, out, err } = await cli([...command, "--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("Examples:\n");
    expect(out).toContain(`$ reporthook ${command.join(" ")}`);
    expect(widest(out)).toBeLessThanOrEqual(80);
  });

  it("inbox names all that --inbox takes", async () => {
    const { out } = await cli(["inbox", "list", "--help"]);
    for (const protocol of ["redis", "rediss", "postgres", "postgresql"]) {
      expect(out).toContain(` ${protocol}://…`);
    }
  });

  it.concurrent.each(["list", "show", "release", "retry", "discard", "stats", "prune"])(
    "inbox %s is in 80 columns, and has --json",
    async (command) => {
      const { code, out } = await cli(["inbox", command, "--help"]);
      expect(code).toBe(0);
      expect(out).toContain("--json");
      expect(widest(out)).toBeLessThanOrEqual(80);
    },
  );

  it("is what comes of no command at all, as a usage error", async () => {
    const { code, out, err } = await cli([]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("Commands:");
  });

  it("--version prints the package's", async () => {
    const { code, out } = await cli(["--version"]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });
});

describe("the API key is never printed", () => {
  const key = 'geheim"&/ä\\7';
  const env = { REPORTS_URL: "http://127.0.0.1:9", REPORTS_API_KEY: key };
  const encoded = encodeURIComponent(key);

  it.concurrent.each([
    [
      "where it is given as an address",
      ["trigger", "report", "--to", `http://a.invalid/${encoded}`],
    ],
    ["where it is given as a wrong argument", ["trigger", key]],
    ["where it is given as an option", ["dev", `--${key}`]],
    ["where the service can't be reached", ["test", "--to", `http://a.invalid/?key=${encoded}`]],
    ["where it is given as a file", ["inbox", "list", "--db", key]],
    ["where it is given as a file to show", ["dashboard", "--db", key]],
  ])("%s", async (_, args) => {
    for (const json of [[], ["--json"]]) {
      const { code, out, err } = await cli([...args, ...json], { env });
      expect(code).not.toBe(0);
      for (const form of [key, encoded, JSON.stringify(key).slice(1, -1), "geheim"]) {
        expect(out + err).not.toContain(form);
      }
    }
  });

  it.each(["--api-key=geheim", "--apikey", "--API_KEY=geheim"])(
    "and %s is refused without repeating it",
    async (option) => {
      const { code, out, err } = await cli(["test", "--to", "http://a", option, "geheim"]);
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toContain("REPORTS_API_KEY");
      expect(err).not.toContain("geheim");
    },
  );
});

const hasScript = spawnSync("script", ["--version"]).error === undefined;
describe.skipIf(!hasScript)("on a terminal (needs the program `script`)", () => {
  const painted = "\u001b[3";
  const onTerminal = (line: string, env: Record<string, string> = {}, columns = 100): string => {
    const { PATH = "", HOME = "" } = process.env;
    const command = `stty cols ${columns} rows 30; ${process.execPath} ${programFile()} ${line}`;
    const { stdout, status } = spawnSync("script", ["-qec", command, "/dev/null"], {
      env: { PATH, HOME, TERM: "xterm-256color", ...env },
      timeout: 120_000,
    });
    // It has ended by itself.
    expect(status).not.toBeNull();
    return stdout.toString();
  };

  it("an error is painted, unless NO_COLOR is set", () => {
    expect(onTerminal("trigger nothing")).toContain("\u001b[31mreporthook:");
    expect(onTerminal("trigger nothing", { NO_COLOR: "1" })).not.toContain(painted);
  });

  it("work is shown by a spinner, without colour where NO_COLOR is set", () => {
    const line = "trigger report --to http://127.0.0.1:9/";
    const shown = onTerminal(line);
    expect(shown).toContain("Sending report");
    expect(shown).toContain("\u001b[36m");
    const plain = onTerminal(line, { NO_COLOR: "1" });
    expect(plain).toContain("Sending report");
    expect(plain).not.toContain(painted);
  });

  it("a terminal of no width gets no spinner", () => {
    const shown = onTerminal("trigger report --to http://127.0.0.1:9/", {}, 0);
    expect(shown).toContain("it can't be reached");
    expect(shown).not.toContain("Sending report");
  });
});
