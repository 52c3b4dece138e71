import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { expect, test } from "vitest";
import { blocksOf, type PageApp, pageService, programFolder, until } from "./page.ts";

const program = await programFolder();
const [app, main] = await blocksOf("docs/deploying.md");
await writeFile(join(program, "app.ts"), app?.code ?? "");
await writeFile(join(program, "main.ts"), main?.code ?? "");
const service = await pageService();

/** A program of the page. */
interface Program extends PageApp {
  readonly inbox: string;
  /** The answers so far: whether each ends its connection, and the status or error of those that are not acknowledged. */
  readonly answers: { readonly ends: boolean; readonly failed?: unknown }[];
  /** The number of refused connections. */
  refused: number;
}

async function start(file: string): Promise<Program> {
  const inbox = temporaryPath();
  const args = ["--conditions=@reporthook/source", "--import", "tsx", join(program, file)];
  return { ...(await service.start(args, inbox)), inbox, answers: [], refused: 0 };
}

const senders = 16;

/** Sends without a pause, from several at once, each until `isOver` or nothing listens. */
function load(program: Program, isOver: () => boolean): Promise<unknown> {
  const { url, answers } = program;
  const sender = async (): Promise<void> => {
    while (!isOver()) {
      const sent = service.emulator.notification("report.complete");
      const answer = await fetch(`${url}/webhooks/reports`, sent).catch((error: Error) => error);
      if (answer instanceof Error) {
        const code = (answer.cause as { readonly code?: unknown } | undefined)?.code;
        if (code === "ECONNREFUSED") {
          program.refused++;
          return;
        }
        answers.push({ ends: false, failed: code });
      } else {
        await answer.arrayBuffer();
        const ends = answer.headers.get("connection") === "close";
        answers.push({ ends, ...(!answer.ok && { failed: answer.status }) });
      }
    }
  };
  return Promise.all(Array.from({ length: senders }, sender));
}

/** Expects that each request was acknowledged, and is handled now or by the next start. */
async function expectAllHandled({ inbox, answers }: Program): Promise<void> {
  expect(answers.filter(({ failed }) => failed !== undefined)).toEqual([]);
  const receiver = await service.workOff(inbox);
  expect((await receiver.inbox.counts()).handled).toBe(answers.length);
}

test("an app at SIGTERM under load answers 200 to all that reaches it, and ends by itself", async () => {
  const app = await start("app.ts");
  const loaded = load(app, () => false);
  await until(() => app.answers.length > 200);
  app.child.kill("SIGTERM");
  await loaded;
  expect(await app.ended).toEqual([0, null]);
  expect(app.refused).toBe(senders);
  await expectAllHandled(app);
});

test("a cluster that restarts its worker under load refuses nothing", async () => {
  const main = await start("main.ts");
  let isOver = false;
  const loaded = load(main, () => isOver);
  for (let restart = 1; restart <= 2; restart++) {
    const before = main.answers.length;
    main.child.kill("SIGHUP");
    await until(() => main.answers.slice(before).some(({ ends }) => ends));
  }
  isOver = true;
  await loaded;
  expect(main.refused).toBe(0);
  main.child.kill("SIGTERM");
  expect(await main.ended).toEqual([0, null]);
  await expectAllHandled(main);
});
