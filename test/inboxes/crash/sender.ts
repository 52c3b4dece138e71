import type { Emulator, Notification } from "@reporthook/emulator";

/** A notification, and the results of all its sendings. */
export interface Sent {
  readonly reportId: string;
  readonly notification: Notification;
  readonly forged: boolean;
  /** The ids in the answers that acknowledged it. */
  readonly ids: Set<string>;
}

/** Milliseconds in which an expected event must happen, even on the slowest machine. */
export const patienceMs = 60_000;

/** Sends signed notifications over HTTP, and keeps account of what was acknowledged. */
export class Sender {
  readonly sent: Sent[] = [];
  readonly #emulator: Emulator;

  constructor(emulator: Emulator) {
    this.#emulator = emulator;
  }

  /** Makes one; `what` is what the app's handler does: see app.ts. */
  make(what: string, forged = false): Sent {
    const reportId = `${what}-${this.sent.length}`;
    const signature = forged ? "invalid" : "valid";
    const notification = this.#emulator.notification("report.complete", { reportId, signature });
    const sent: Sent = { reportId, notification, forged, ids: new Set() };
    this.sent.push(sent);
    return sent;
  }

  /** Sends it once; resolves to whether it was acknowledged. */
  async send(url: string, { notification, ids }: Sent): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(patienceMs);
      const response = await fetch(url, { ...notification, signal });
      const acknowledged = response.ok;
      const { id } = (await response.json()) as { readonly id?: string };
      if (acknowledged && id !== undefined) ids.add(id);
      return acknowledged;
    } catch {
      // The caller sends again when there is no answer.
      return false;
    }
  }

  /** Sends it until it is acknowledged; resolves to its id. */
  async insist(url: string, sent: Sent): Promise<string> {
    const until = performance.now() + patienceMs;
    while (!(await this.send(url, sent))) {
      if (performance.now() > until) throw new Error(`${sent.reportId} is never acknowledged`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return [...sent.ids][0] ?? "";
  }
}

/** Waits until `check` gives something that holds. */
export async function until<T>(what: string, check: () => T | Promise<T>): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (performance.now() > end) throw new Error(`It never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
