import { existsSync } from "node:fs";
import type { Inbox } from "@reporthook/core";
import { ofInbox } from "@reporthook/dashboard";
import { openInbox } from "../inbox/source.ts";
import { appFile, program } from "../lib/environment.ts";
import { exitStatusOf } from "../lib/errors.ts";
import type { History } from "./history.ts";
import { pageOf } from "./own-receiver.ts";
import { type Handle, respond } from "./serve.ts";

/** The inbox of an app that keeps it in this folder. It is opened when somebody wants to look at it, not before. */
export class AppInbox {
  readonly #history: History;
  #opened: Promise<Inbox> | null = null;
  #page: Handle | null = null;

  constructor(history: History) {
    this.#history = history;
  }

  /**
   * The inbox; null while there is no file.
   *
   * @throws ReporthookError `inbox_failed` if it can't be opened
   */
  async find(): Promise<Inbox | null> {
    if (this.#opened === null && !existsSync(appFile)) return null;
    this.#opened ??= openInbox({ db: appFile });
    return this.#opened.catch((error: unknown) => {
      this.#opened = null;
      throw error;
    });
  }

  /** Serves its dashboard, or says why there is none. */
  readonly serve: Handle = async (req, res) => {
    const say = (status: number, text: string): Promise<void> =>
      respond(res, new Response(`${text}\n`, { status }));
    try {
      const inbox = await this.find();
      if (inbox === null) {
        const start = "Start it in your app's folder, or run:";
        const text = `There is no ${appFile} in the folder of reporthook dev. ${start}`;
        return await say(404, `${text}\n${program()} dashboard --db FILE`);
      }
      this.#page ??= pageOf(ofInbox(inbox), this.#history);
      await this.#page(req, res);
    } catch (error) {
      await say(503, exitStatusOf(error).message);
    }
  };

  async close(): Promise<void> {
    const inbox = await this.#opened?.catch(() => null);
    await inbox?.close();
  }
}
