import { clearInterval, setInterval } from "node:timers";
import type { Connection } from "./connection.ts";
import { checkDurability } from "./durability-check.ts";
import type { BullmqSettings } from "./settings.ts";

const everyMs = 180_000;

/** Warns of each risky setting of the server once, and again when it changes: a failover may lead to another server. */
export class DurabilityWatch {
  readonly #settings: Pick<BullmqSettings, "backend" | "logger" | "address">;
  /** The risky values that were warned of, by setting. */
  readonly #warned = new Map<string, string>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(settings: Pick<BullmqSettings, "backend" | "logger" | "address">) {
    this.#settings = settings;
  }

  /** Checks a connection now, whenever it is made again, and every 3 minutes; resolves after the first check. */
  async watch(connection: Pick<Connection, "setting" | "onConnected">): Promise<void> {
    this.end();
    const again = (): void => void this.#check(connection, false);
    this.#timer = setInterval(again, everyMs).unref();
    await this.#check(connection, true);
    connection.onConnected(again);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #check(connection: Pick<Connection, "setting">, isFirst: boolean): Promise<void> {
    const { backend, logger, address } = this.#settings;
    const risks = await checkDurability(backend, connection);
    // Later it is the server that gave no answer.
    const known = risks.filter(({ value }) => isFirst || value !== "unknown");
    if (known.length < risks.length) return;
    for (const setting of this.#warned.keys()) {
      if (!known.some((risk) => risk.setting === setting)) this.#warned.delete(setting);
    }
    for (const { setting, value, message } of known) {
      if (this.#warned.get(setting) === value) continue;
      this.#warned.set(setting, value);
      logger.warn({ inbox: address, [setting]: value }, message);
    }
  }
}
