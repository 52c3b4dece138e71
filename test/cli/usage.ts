import { spawnSync } from "node:child_process";
import { describeWith, missingProgram } from "@reporthook/test-support/needs";
import { answering } from "@reporthook/test-support/service-calls";
import { describe, expect, it } from "vitest";
import { cli, cliJson, type Failed, nodeOnTerminal, programFile, widest } from "./process.ts";

const service = { REPORTS_URL: "http://127.0.0.1:9", REPORTS_API_KEY: "a-key-of-the-tests" };

describe("wrong command lines", () => {
  it.concurrent.each([
    ["an unknown command, and the one that may be meant", ["triger"], "Did you mean trigger"],
    ["an unknown option", ["dev", "--colour"], "unknown option '--colour'"],
    ["a missing argument", ["trigger"], "missing required argument 'name'"],
    ["an argument too many", ["dev", "now"], "too many arguments"],
    ["an unknown notification", ["trigger", "report.done"], "report.complete"],
    ["a misspelt notification", ["trigger", "report.compleet"], "Did you mean report.complete?"],
    ["a misspelt option", ["trigger", "report", "--signatur", "none"], "Did you mean --signature?"],
    ["a body that is no notification", ["trigger", "report", "--body", "{a:1}"], "a JSON object"],
    ["a list as a body", ["trigger", "report", "--body", "[1]"], "a JSON object"],
    ["a file and a name", ["trigger", "report", "--from", "a.json"], "omit the name"],
    ["an unknown signature", ["trigger", "report", "--signature", "wrong"], "valid, invalid"],
    ["an address that is none", ["doctor", "--to", "localhost:3000"], "http://localhost:3000"],
    ["no address", ["test"], "'--to <url>' not specified"],
    ["a port that is none", ["dev", "--port", "70000"], "from 0 to 65535"],
    ["an inbox for the app's own", ["dev", "--forward", "http://a", "--db", "b"], "--db"],
    ["no inbox to show", ["dashboard"], "either --db <file> or --inbox <url>: there is neither"],
    ["a page for everybody", ["dashboard", "--db", "a", "--host", "0.0.0.0"], "authorize"],
    ["no inbox", ["inbox", "list"], "either --db <file> or --inbox <url>"],
    ["an inbox of another kind", ["inbox", "stats", "--inbox", "mysql://a"], "postgresql://"],
    ["an unknown state", ["inbox", "list", "--db", "a", "--state", "lost"], "parked"],
    ["a day that is none", ["inbox", "list", "--db", "a", "--since", "2026-02-30"], "in UTC"],
    ["a date and more", ["inbox", "list", "--db", "a", "--until", "2026-02-03 (noon)"], "in UTC"],
    ["a month that is none", ["inbox", "list", "--db", "a", "--since", "2026-13-01"], "in UTC"],
    ["a copy at a URL", ["inbox", "backup", "file:b.db", "--db", "a"], "name a file"],
    ["nothing to release", ["inbox", "release", "--db", "a"], "--reason"],
    ["both kinds", ["inbox", "release", "x", "--reason", "poison", "--db", "a"], "--reason"],
    ["a host that is none", ["dev", "--host="], "an address of this machine"],
    ["an option as a value", ["inbox", "list", "--db", "--state"], "--db needs a value"],
    ["a receiver of no name", ["inbox", "list", "--db", "a", "--receiver", "a:b"], "option name"],
    [
      "a time span that ends before it begins",
      ["inbox", "release", "--db", "a", "--since", "1h", "--until", "2h"],
      "--since must be before --until",
    ],
    ["no report", ["inbox", "erase", "--db", "a", "--report-id", ""], "a variable not set"],
    ["no error", ["inbox", "release", "--db", "a", "--error", " "], "a variable not set"],
    ["no request", ["inbox", "list", "--db", "a", "--request-id", ""], "a variable not set"],
    ["an inbox that is none", ["dev", "--db", ":memory:"], "name a file"],
    ["an inbox without a name", ["dev", "--db", ""], "name a file"],
    [
      "a password in an address",
      ["trigger", "report", "--to", "http://u:p@a"],
      "must not contain a user",
    ],
    ["a number that is none", ["doctor", "--to", "http://a", "--requests", "0"], "from 1 to"],
  ])("a wrong command line ends with 2 and one sentence: %s", async (_, args, hint) => {
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
    ["a bad inbox", ["inbox", "list"], { REPORTS_INBOX: "a://b" }, "REPORTS_INBOX must be a URL"],
    ["an empty inbox", ["inbox", "list"], { REPORTS_INBOX: "" }, "either --db <file> or --inbox"],
    ["nothing to report on", ["request"], service, "--domain"],
    ["a month that is none", ["request", "--start-date", "2026-13"], service, "start_date"],
  ])("a wrong command line ends with 2: %s", async (_, args, env, hint) => {
    const { code, value } = await cliJson<Failed>(args, { env });
    expect(code).toBe(2);
    expect(value.error.message).toContain(hint);
  });

  it.concurrent.each([[[]], [["inbox"]]])(
    "no command after %j ends with 2, as JSON with --json",
    async (args) => {
      const { code, value } = await cliJson<Failed>(args);
      expect(code).toBe(2);
      expect(value.error.message).toContain("--help");
    },
  );

  it("the option --json may stand anywhere", async () => {
    for (const args of [
      ["--json", "inbox", "list"],
      ["inbox", "--json", "list"],
      ["inbox", "list", "--json"],
    ]) {
      const { code, out } = await cli(args);
      expect([code, JSON.parse(out)]).toMatchObject([2, { error: { code: "usage" } }]);
    }
  });
});

describe("help", () => {
  it.concurrent.each([
    [[]],
    [["dev"]],
    [["trigger"]],
    [["test"]],
    [["request"]],
    [["doctor"]],
    [["inbox"]],
    [["dashboard"]],
    [["reports"]],
    [["callback-url"]],
    [["completion"]],
  ])("reporthook %j --help shows examples, in 80 columns", async (command) => {
    const { code, out, err } = await cli([...command, "--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("Examples:\n");
    expect(out).toContain(`$ reporthook ${command.join(" ")}`);
    expect(widest(out)).toBeLessThanOrEqual(80);
  });

  it("reporthook inbox list --help names all that --inbox takes", async () => {
    const { out } = await cli(["inbox", "list", "--help"]);
    for (const protocol of ["redis", "rediss", "postgres", "postgresql"]) {
      expect(out).toContain(` ${protocol}://…`);
    }
  });

  const ofInbox = ["list", "show", "release", "retry", "discard", "acts"];
  const more = ["errors", "erase", "backup", "export", "stats", "prune"];
  it.concurrent.each([
    ...[...ofInbox, ...more].map((name) => ["inbox", name]),
    ...["list", "show", "settle"].map((name) => ["reports", name]),
  ])("reporthook %s %s --help is in 80 columns, and has --json", async (...command) => {
    const { code, out } = await cli([...command, "--help"]);
    expect(code).toBe(0);
    expect(out).toContain("--json");
    expect(widest(out)).toBeLessThanOrEqual(80);
  });

  it("reporthook alone shows the help as a usage error", async () => {
    const { code, out, err } = await cli([]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("Commands:");
  });

  it("reporthook --version prints the version of the package", async () => {
    const { code, out } = await cli(["--version"]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });
});

describe("the API key", () => {
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
  ])("the API key is never printed %s", async (_, args) => {
    for (const json of [[], ["--json"]]) {
      const { code, out, err } = await cli([...args, ...json], { env });
      expect(code).not.toBe(0);
      for (const form of [key, encoded, JSON.stringify(key).slice(1, -1), "geheim"]) {
        expect(out + err).not.toContain(form);
      }
    }
  });

  it("the API key is never printed where the end of a line cuts it, nor is a token or a password", async () => {
    const key = "sk-live-0123456789abcdef0123456789";
    const path = "a/rather/long/path/of/an/app/in/production";
    for (const secret of [`callback_token=${key}`, `key=${key}`]) {
      const to = `http://name:${key}@127.0.0.1:9/${path}?${secret}`;
      const { out, err } = await cli(["doctor", "--to", to], {
        env: { REPORTS_API_KEY: secret.startsWith("key") ? key : "another" },
      });
      const shown = (out + err).replaceAll(/\s+/g, "");
      expect(shown).toContain(path);
      for (let from = 0; from + 8 <= key.length; from++) {
        expect(shown).not.toContain(key.slice(from, from + 8));
      }
    }
  });

  it("the API key is never printed from a server's answer, also not from its names", async () => {
    const body = `{"${key.slice(0, 6)}":{"${encoded}":["${encoded}"]}}`;
    const plainTo = `${await answering(200, {}, body)}/`;
    const to = plainTo.replace("://", "://name:p@ss@");
    for (const json of [[], ["--json"]]) {
      const { out } = await cli(["trigger", "report", "--to", plainTo, ...json], { env });
      expect(out).toContain("[api key]");
      expect(out).not.toContain(encoded);
      const refused = await cli(["trigger", "report", "--to", to, ...json], { env });
      expect(refused.out + refused.err).not.toContain("ss@");
    }
  });

  it.each(["--api-key=geheim", "--apikey", "--API_KEY=geheim"])(
    "the API key as %s is refused without being repeated",
    async (option) => {
      const { code, out, err } = await cli(["test", "--to", "http://a", option, "geheim"]);
      expect({ code, out }).toEqual({ code: 2, out: "" });
      expect(err).toContain("REPORTS_API_KEY");
      expect(err).not.toContain("geheim");
    },
  );
});

const noScript = missingProgram("script", "bsdutils");
describeWith(noScript)("on a terminal", () => {
  const painted = "\u001b[3";
  const onTerminal = (line: string, env: Record<string, string> = {}, columns = 100): string => {
    const { status, shown } = nodeOnTerminal([programFile(), ...line.split(" ")], { env, columns });
    // It has ended by itself.
    expect(status).not.toBeNull();
    return shown;
  };

  it("an error is painted, unless NO_COLOR is set", () => {
    expect(onTerminal("trigger nothing")).toContain("\u001b[31mreporthook:");
    expect(onTerminal("trigger nothing", { NO_COLOR: "1" })).not.toContain(painted);
  });

  it("the spinner shows work, without colour where NO_COLOR is set", () => {
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
    expect(shown).toContain("unreachable (");
    expect(shown).not.toContain("Sending report");
  });

  it("the text is as wide as the terminal", () => {
    const shown = onTerminal("doctor --to http://127.0.0.1:9/", { NO_COLOR: "1" }, 50);
    const [announcement = ""] = shown.split("\r\n\r\n");
    expect(widest(announcement.replaceAll("\r", ""))).toBeLessThanOrEqual(50);
  });
});

it("the exit code is told when nobody reads what is told beside it", () => {
  const line = `${process.execPath} ${programFile()} bogus 2>&1 | true; echo "\${PIPESTATUS[0]}"`;
  const { stdout } = spawnSync("bash", ["-c", line]);
  expect(stdout.toString()).toBe("2\n");
});
