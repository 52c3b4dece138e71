import type { Connection } from "./connection.ts";
import type { BullmqSettings } from "./settings.ts";

/** A setting of the server that may lose acknowledged deliveries. */
export interface DurabilityRisk {
  readonly setting: string;
  readonly value: string;
  /** The possible loss, and the setting that prevents it. */
  readonly message: string;
}

interface Rule {
  readonly setting: string;
  readonly good: readonly string[];
  readonly message: (value: string) => string;
}

const rules: Readonly<Record<BullmqSettings["backend"], readonly Rule[]>> = {
  redis: [
    {
      setting: "appendonly",
      good: ["yes"],
      message: () =>
        "Redis writes no log: the end of the server loses what was acknowledged since its last snapshot. Set appendonly yes and appendfsync always.",
    },
    {
      setting: "appendfsync",
      good: ["always"],
      message: (value) =>
        `Redis answers before its log is on the disk: a power cut loses ${
          value === "no" ? "what the system had not written" : "up to the last two seconds"
        } of what was acknowledged. Set appendfsync always.`,
    },
    {
      setting: "maxmemory-policy",
      good: ["noeviction"],
      message: (value) =>
        `Redis deletes deliveries when its memory is full (${value}). Set maxmemory-policy noeviction: then it refuses new ones, which are answered 503.`,
    },
  ],
  postgres: [
    {
      setting: "fsync",
      good: ["on"],
      message: () =>
        "PostgreSQL never waits for the disk: a power cut may destroy the database. Set fsync = on.",
    },
    {
      setting: "synchronous_commit",
      good: ["on", "remote_apply", "remote_write", "local"],
      message: () =>
        "PostgreSQL answers before a commit is on the disk: its crash loses what was acknowledged last. Set synchronous_commit = on.",
    },
  ],
};

/** Checks the server's settings; the most severe risk first. */
export async function checkDurability(
  backend: BullmqSettings["backend"],
  connection: Pick<Connection, "setting">,
): Promise<DurabilityRisk[]> {
  const found: DurabilityRisk[] = [];
  for (const { setting, good, message } of rules[backend]) {
    const value = await connection.setting(setting).catch(() => null);
    if (value === null) {
      const unknown = `Could not read ${setting}. Set it to ${good[0]}, otherwise acknowledged deliveries may be lost.`;
      found.push({ setting, value: "unknown", message: unknown });
    } else if (!good.includes(value)) {
      found.push({ setting, value, message: message(value) });
    }
  }
  // Without a log, its fsync makes no difference.
  const noLog = found.some(({ setting, value }) => setting === "appendonly" && value === "no");
  return noLog ? found.filter(({ setting }) => setting !== "appendfsync") : found;
}
