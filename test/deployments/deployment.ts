import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator } from "@reporthook/emulator";
import { freePort } from "@reporthook/test-support/free-port";
import type { Framework } from "./app.ts";
import { AppProcess, type Ended } from "./app-process.ts";
import { type Nginx, startNginx } from "./nginx.ts";
import { type Counts, Sender, type Traffic } from "./sender.ts";

/** How processes follow each other. */
export interface Plan extends Traffic {
  readonly framework: Framework;
  /**
   * `alone`: the next process starts when the last one has ended. `cluster`: it takes connections before the last one is
   * told to end. `nginx`: two processes behind nginx, restarted in turns; `nginx, max_fails=0`: the same with that setting.
   */
  readonly way: "alone" | "cluster" | "nginx" | "nginx, max_fails=0";
  readonly restarts: number;
}

/** The outcome of a deployment for the notifications. */
export interface Outcome extends Counts {
  readonly acknowledged: number;
  /** The reports that were acknowledged and never handled. */
  readonly lost: readonly string[];
  readonly ended: readonly Ended[];
  /** The last that all processes wrote. */
  readonly output: string;
}

/** Restarts an app that gets notifications all the while; calls `progress` after each restart. */
export async function deploy(plan: Plan, progress = (_done: number): void => {}): Promise<Outcome> {
  const deployment = new Deployment(plan);
  try {
    await deployment.start();
    for (let number = 0; number < plan.restarts; number++) {
      await deployment.restart(number);
      progress(number + 1);
    }
    return await deployment.outcome();
  } finally {
    await deployment.close();
  }
}

/** The service, a sender, and one or two running apps on one inbox. */
class Deployment {
  readonly #plan: Plan;
  readonly #folder = mkdtempSync(join(tmpdir(), "reporthook-deployment-"));
  readonly #diary = join(this.#folder, "diary");
  readonly #emulator = createEmulator();
  /** In the order of their starts, which is that of their ends. */
  readonly #apps: AppProcess[] = [];
  readonly #ended: Ended[] = [];
  readonly #sender: Sender;
  #serviceUrl = "";
  #nginx: Nginx | undefined;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#sender = new Sender(this.#emulator, plan);
    writeFileSync(this.#diary, "");
  }

  async start(): Promise<void> {
    const { way } = this.#plan;
    this.#serviceUrl = (await this.#emulator.listen()).url;
    const port = await freePort();
    await this.#startApp(port);
    if (way.startsWith("nginx")) {
      const other = await freePort();
      await this.#startApp(other);
      this.#nginx = await startNginx(this.#folder, [port, other], way === "nginx" ? 1 : 0);
    }
    this.#sender.start(this.#nginx?.port ?? port);
  }

  /** Restarts the oldest process: one in the middle of a request, the next one while others are half sent and on their way. */
  async restart(number: number): Promise<void> {
    const { connections, perSecond, way } = this.#plan;
    const old = this.#apps[number] as AppProcess;
    await this.#sender.acknowledgedMore(perSecond / 2);
    const next = way === "cluster" ? await this.#startApp(old.options.port) : undefined;
    if (number % 2 === 0) {
      this.#ended.push(await old.end("SIGINT"));
    } else {
      const sendRest = await this.#sender.sendHalf(connections >> 2);
      this.#sender.send(connections >> 1);
      this.#ended.push(await old.end("SIGTERM", sendRest));
    }
    const app = next ?? (await this.#startApp(old.options.port));
    // Behind nginx that is when it chooses this process again.
    await app.told("used");
  }

  /** Ends the traffic, waits until everything is handled. */
  async outcome(): Promise<Outcome> {
    const { acknowledged, counts } = this.#sender;
    await this.#sender.acknowledgedMore(this.#plan.perSecond / 2);
    await this.#sender.stop();
    await this.#apps.at(-1)?.idle();
    const handled = new Set(readFileSync(this.#diary, "utf8").split("\n"));
    const lost = acknowledged.filter((reportId) => !handled.has(reportId));
    const output = [...this.#apps, ...(this.#nginx ? [this.#nginx] : [])];
    return {
      ...counts,
      acknowledged: acknowledged.length,
      lost,
      ended: this.#ended,
      output: output.map((one) => one.output).join(""),
    };
  }

  async close(): Promise<void> {
    await this.#sender.stop();
    await Promise.all(this.#apps.map((app) => app.kill()));
    await this.#nginx?.end();
    await this.#emulator.close();
    rmSync(this.#folder, { recursive: true });
  }

  async #startApp(port: number): Promise<AppProcess> {
    const { framework, way } = this.#plan;
    const rest = { diary: this.#diary, file: join(this.#folder, "inbox.db") };
    const options = { framework, port, serviceUrl: this.#serviceUrl, ...rest };
    const app = new AppProcess(options, way === "cluster");
    this.#apps.push(app);
    await app.told("listens");
    return app;
  }
}
