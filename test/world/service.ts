import type { ClientOptions } from "@reporthook/core";
import type { Chance } from "./chance.ts";
import type { Ledger } from "./ledger.ts";
import { isGenuine } from "./notification.ts";
import type { Realm } from "./realm.ts";
import type { Time } from "./time.ts";

type Fetch = NonNullable<ClientOptions["fetch"]>;
type Response = Awaited<ReturnType<Fetch>>;

/** How the service does: it answers, does not, answers too late, loses answers, fails, limits us, refuses our key. */
export type ServiceMode =
  | "ok"
  | "unreachable"
  | "hanging"
  | "slow"
  | "losing"
  | "failing"
  | "limiting"
  | "refusing";

const lifetimeMs = 300_000;

/** The service, as a world plays it. */
export class Service {
  mode: ServiceMode = "ok";
  readonly #time: Time;
  readonly #chance: Chance;
  readonly #ledger: Ledger;

  constructor(time: Time, chance: Chance, ledger: Ledger) {
    this.#time = time;
    this.#chance = chance;
    this.#ledger = ledger;
  }

  /** What a process calls it with. */
  fetchFor(realm: Realm): Fetch {
    return (_, { headers, signal }) =>
      new Promise((resolve, reject) => {
        const signature = headers["X-svc-authorization"] ?? "";
        const { mode } = this;
        const later = (ms: number, run: () => void): void => {
          this.#time.in(ms, run, realm);
        };
        const answer = (status: number): void => {
          this.#note(signature, signal.aborted ? null : status);
          resolve(responseOf(status, mode, this.#chance));
        };
        signal.addEventListener("abort", () => reject(signal.reason));
        const ms = this.#chance.between(3, 60);
        if (mode === "hanging") this.#note(signature, null);
        else if (mode === "unreachable" || (mode === "losing" && this.#chance.yes(70))) {
          this.#note(signature, null);
          later(ms, () => reject(new TypeError("fetch failed")));
        } else if (mode === "failing") later(ms, () => answer(this.#chance.one([500, 502, 503])));
        else if (mode === "limiting") later(ms, () => answer(429));
        else if (mode === "refusing") later(ms, () => answer(this.#chance.one([401, 403])));
        else {
          const status = this.#statusOf(signature);
          later(mode === "slow" ? this.#chance.between(500, 12_000) : ms, () => answer(status));
        }
      });
  }

  #statusOf(signature: string): number {
    const made = this.#ledger.notifications.find((one) => one.signature === signature);
    if (made === undefined || !isGenuine(made)) return 406;
    if (made.kind === "misjudged") return this.#chance.one([400, 404, 422]);
    return this.#time.now - made.triggeredAt > lifetimeMs ? 424 : 200;
  }

  #note(signature: string, status: number | null): void {
    this.#ledger.verdicts.push({ signature, at: this.#time.now, status });
    this.#ledger.tell("authorize", `${signature}: ${status ?? "no answer"}`);
  }
}

function responseOf(status: number, mode: ServiceMode, chance: Chance): Response {
  const asks = (mode === "limiting" || mode === "refusing") && chance.yes(50);
  const seconds = String(chance.between(1, 10));
  return {
    ...{ status, type: "basic", redirected: false, body: null },
    headers: { get: (name) => (name === "retry-after" && asks ? seconds : null) },
  };
}
