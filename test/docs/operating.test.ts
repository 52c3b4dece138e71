import {
  copyFile,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient, createReceiver, type Health } from "@reporthook/core";
import { parkedReasons } from "@reporthook/core/store";
import { reasonHint, reasonName, reasons as shown } from "@reporthook/dashboard/internals";
import { sqliteInbox } from "@reporthook/sqlite";
import { testWith } from "@reporthook/test-support/needs";
import { patient } from "@reporthook/test-support/patient";
import { programOf } from "@reporthook/test-support/program";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { describe, expect, test } from "vitest";
import type { Terminal } from "#cli";
import { createProgram } from "#cli";
import {
  blocksOf,
  healthOf,
  type PageApp,
  pageService,
  programFolder,
  root,
  until,
} from "./page.ts";

const page = await readFile(join(root, "docs/operating.md"), "utf8");

const program = join(await programFolder(), "app.ts");
const [example] = await blocksOf("docs/deploying.md");
await writeFile(program, example?.code ?? "");
const folder = temporaryFolder();
const inbox = join(folder, "inbox.db");
const service = await pageService();
const { emulator, workOff } = service;

/** Starts the example of the page on the file that all tests share. */
const start = async (): Promise<PageApp> =>
  service.start([await programOf(pathToFileURL(program))], inbox);

/** Sends one; its id once it is acknowledged, else null. */
async function send({ url }: PageApp): Promise<string | null> {
  try {
    const answer = await fetch(`${url}/webhooks/reports`, emulator.notification("report.complete"));
    const { id } = (await answer.json()) as { readonly id?: string };
    return answer.ok ? (id ?? null) : null;
  } catch {
    return null;
  }
}

/** Sends without a pause, from 16 at once, until one of each is not acknowledged. */
function load(app: PageApp, acknowledged: Set<string>): Promise<unknown> {
  const sender = async (): Promise<void> => {
    for (let id = await send(app); id !== null; id = await send(app)) acknowledged.add(id);
  };
  return Promise.all(Array.from({ length: 16 }, sender));
}

/** The terminal of a command that is run here. */
function terminalInto(told: unknown[]): Terminal {
  return {
    json: true,
    columns: 80,
    print() {},
    tell() {},
    reveal() {},
    emit: (value) => void told.push(value),
    hasKeys: false,
    footer() {},
    paint: (_style, text) => text,
    during: (_text, work) => work(() => {}),
    clean: (text) => text,
  };
}

/** The dashboard's name of each reason, as the page says it. */
function namesOnPage(): Record<string, string> {
  const rows = page.matchAll(/^### `(\w+)`: (.+)\n\nState `(?:held|dead|rejected)`/gm);
  return Object.fromEntries([...rows].map(([, reason, name]) => [reason, name]));
}

function commands(): string[] {
  return [...page.matchAll(/npx reporthook (inbox [^`\n]*?--db inbox\.db)/g)].map(
    ([, args = ""]) => args,
  );
}

/** Runs a command of the page with the files of this test; what it tells. */
async function run(command: string, copy: string): Promise<unknown[]> {
  const told: unknown[] = [];
  const words = command.replace("copy.db", copy).replace("inbox.db", inbox).split(" ");
  await createProgram(terminalInto(told)).parseAsync([...words, "--json"], { from: "user" });
  return told;
}

test("a copy made under load holds all deliveries acknowledged before, and can be restored", async () => {
  const command = commands().find((words) => words.startsWith("inbox backup")) ?? "";
  const copy = join(folder, "copy.db");
  const app = await start();
  const acknowledged = new Set<string>();
  const loaded = load(app, acknowledged);
  await until(() => acknowledged.size > 200);
  const before = [...acknowledged];
  await run(command, copy);
  await until(() => acknowledged.size > before.length);
  app.child.kill("SIGKILL");
  await app.ended;
  await loaded;

  const broken = join(folder, "broken");
  await mkdir(broken);
  for (const end of ["", "-wal", "-shm"])
    await rename(`${inbox}${end}`, join(broken, `i.db${end}`));
  await copyFile(copy, inbox);
  const receiver = await workOff(inbox);
  for (const id of before) expect(await receiver.inbox.get(id)).toMatchObject({ state: "handled" });
});

test("the health route stays ready while the service is away, and is not once the file is gone", async () => {
  const app = await start();
  emulator.fault("authorize", { status: 503 });
  const id = await send(app);
  expect(id).not.toBe(null);
  await until(async () => {
    const answer = await fetch(`${app.url}/health`);
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { service: string }).service === "failing";
  });
  emulator.reset();

  await rename(inbox, `${inbox}.away`);
  await until(async () => {
    await send(app);
    return (await healthOf(app)) === 503;
  });
  await rename(`${inbox}.away`, inbox);
  await until(async () => (await send(app)) !== null && (await healthOf(app)) === 200);
  app.child.kill("SIGTERM");
  expect(await app.ended).toEqual([0, null]);
});

testWith(process.platform === "linux" ? null : "/proc needs Linux")(
  "a deleted file can be copied from the running app, as the page says",
  async () => {
    const app = await start();
    const ids = [await send(app), await send(app)];
    for (const end of ["", "-wal", "-shm"]) await rm(`${inbox}${end}`);
    await until(async () => {
      const { inbox } = (await (await fetch(`${app.url}/health`)).json()) as Health;
      return inbox.error?.includes("deleted") ?? false;
    });
    const open = `/proc/${app.child.pid}/fd`;
    const rescued = join(folder, "rescue.db");
    for (const name of await readdir(open)) {
      const target = await readlink(join(open, name)).catch(() => "");
      if (target.endsWith("inbox.db (deleted)")) await copyFile(join(open, name), rescued);
    }
    app.child.kill("SIGKILL");
    await app.ended;
    await rename(rescued, inbox);
    const receiver = await workOff(inbox);
    for (const id of ids) {
      expect(await receiver.inbox.get(id ?? "")).toMatchObject({ state: "handled" });
    }
  },
);

describe("the text", () => {
  test("docs/operating.md explains every reason of the code, and no other", () => {
    const reasons = [...parkedReasons, "invalid_signature"].sort();
    expect(Object.keys(namesOnPage()).sort()).toEqual(reasons);
  });

  test("docs/operating.md names each reason as the dashboard does", () => {
    const named = Object.keys(shown).map((code) => [code, reasonName(code)]);
    expect(namesOnPage()).toEqual(Object.fromEntries(named));
  });

  test("docs/operating.md asks to check what the dashboard does, before a release", () => {
    const [, sentence = ""] = /\*\*Check (.*?) deliveries before you release/.exec(page) ?? [];
    const named = [...sentence.matchAll(/`(\w+)`/g)].map(([, code = ""]) => code);
    expect(named).toEqual(["unsigned", "expired", "not_verified"]);
    for (const code of named) {
      expect(reasonHint(code)).toContain("Check that the report is in your account");
    }
  });

  test("docs/operating.md says which of its commands take --receiver", () => {
    const [sentence = ""] = /With `--receiver NAME`[^.]*\./.exec(page) ?? [];
    const named = [...sentence.matchAll(/`([a-z]+)`/g)].map(([, name]) => name);
    const said = named.filter((name) => name !== "reports");
    const inbox = createProgram(terminalInto([])).commands.find((one) => one.name() === "inbox");
    const taking = inbox?.commands
      .filter(({ options }) => options.some(({ long }) => long === "--receiver"))
      .map((command) => command.name());
    expect(said.sort()).toEqual(taking?.sort());
  });

  test("docs/operating.md names no command that is not found without a global installation", () => {
    expect(page.match(/(?<!npx )reporthook inbox/g)).toBe(null);
  });

  test("docs/operating.md names commands that there are", async () => {
    const receiver = createReceiver({
      client: createClient(emulator.clientOptions),
      inbox: sqliteInbox(inbox),
      logger: false,
      ...patient,
    });
    // The first command of each kind; the file is of an app that runs.
    await receiver.start();
    const kinds = new Map<string, string>();
    for (const args of commands()) {
      const kind = args.replace(/--reason \w+/, "--reason");
      if (!kinds.has(kind)) kinds.set(kind, args);
    }
    expect(kinds.size).toBe(10);
    for (const args of kinds.values()) {
      const notification = emulator.notification("report.complete", { signature: "none" });
      const request = new Request("https://app.example/hook", notification);
      const { id } = (await (await receiver.fetch(request)).json()) as { readonly id: string };
      const told = await run(args.replace("ID", id), join(folder, "another-copy.db"));
      expect([args, told.length]).toEqual([args, 1]);
    }
    await receiver.close();
  });
});
