import type { ClientOptions } from "@reporthook/core";
import type { Ledger } from "../ledger.ts";
import type { Realm } from "../product/realm.ts";
import { Desk } from "../reports/desk.ts";
import type { Chance } from "./chance.ts";
import { isGenuine } from "./notification.ts";
import type { ServiceMode } from "./service-mode.ts";
import type { Time } from "./time.ts";

type Fetch = NonNullable<ClientOptions["fetch"]>;
type Response = Awaited<ReturnType<Fetch>>;

/** The service's answers to one process. */
interface Answers {
  judged: boolean;
  /** Signatures that were refused since the last verdict. */
  readonly refused: Set<string>;
}

const lifetimeMs = 300_000;
/** The answers to a signature that is shunned; null is silence. */
const troubles = [401, 403, 500, null] as const;

/** The service, as a world plays it. */
export class Service {
  mode: ServiceMode = "ok";
  /** Takes requests for reports. */
  readonly desk: Desk;
  readonly #time: Time;
  readonly #chance: Chance;
  readonly #ledger: Ledger;
  readonly #answers = new Map<Realm, Answers>();

  constructor(time: Time, chance: Chance, ledger: Ledger) {
    this.#time = time;
    this.#chance = chance;
    this.#ledger = ledger;
    this.desk = new Desk(time, chance, ledger);
  }

  /** The `fetch` with which a process calls it. */
  fetchFor(realm: Realm): Fetch {
    return (address, init) => {
      if (address.includes("/request-report")) return this.desk.ask(init, this.mode, realm);
      return this.#authorize(init, realm);
    };
  }

  #authorize({ headers, signal }: Parameters<Fetch>[1], realm: Realm): Promise<Response> {
    return new Promise((resolve, reject) => {
      const signature = headers["X-svc-authorization"] ?? "";
      const { mode } = this;
      const later = (ms: number, run: () => void): void => {
        this.#time.in(ms, run, realm);
      };
      const answer = (status: number): void => {
        this.#note(signature, signal.aborted ? null : status);
        if (!signal.aborted) this.#remember(realm, signature, status);
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
        if (status === null) this.#note(signature, null);
        else later(mode === "slow" ? this.#chance.between(500, 12_000) : ms, () => answer(status));
      }
    });
  }

  /** Whether all that a process was told says that its key is refused, and not only one signature. */
  refusesKeyOf(realm: Realm): boolean {
    const { judged, refused } = this.#answersTo(realm);
    return refused.size > (judged ? 1 : 0);
  }

  #answersTo(realm: Realm): Answers {
    const answers = this.#answers.get(realm) ?? { judged: false, refused: new Set<string>() };
    this.#answers.set(realm, answers);
    return answers;
  }

  #remember(realm: Realm, signature: string, status: number): void {
    const answers = this.#answersTo(realm);
    if (status === 401 || status === 403) answers.refused.add(signature);
    if (status !== 200 && status !== 406 && status !== 424) return;
    answers.judged = true;
    answers.refused.clear();
  }

  #statusOf(signature: string): number | null {
    const made = this.#ledger.notifications.find((one) => one.signature === signature);
    if (made?.kind === "shunned") return troubles[made.n % troubles.length] ?? null;
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
    status,
    type: "basic",
    redirected: false,
    body: null,
    headers: { get: (name) => (name === "retry-after" && asks ? seconds : null) },
  };
}
