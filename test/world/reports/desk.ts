import type { ClientOptions } from "@reporthook/core";
import type { Ledger } from "../ledger.ts";
import type { Realm } from "../product/realm.ts";
import type { Chance } from "../surroundings/chance.ts";
import type { ServiceMode } from "../surroundings/service-mode.ts";
import type { Time } from "../surroundings/time.ts";
import { type Call, isRefused, requestIdIn } from "./wish.ts";

type Fetch = NonNullable<ClientOptions["fetch"]>;
type Init = Parameters<Fetch>[1];

/** How a call ends: with an HTTP status, without an answer, cut, or before it is sent. */
type End = number | "silence" | "cut" | "not sent";

const ends = { answered: 62, refused: 12, failed: 10, silence: 6, cut: 10 };

/** The part of the service that takes requests for reports. */
export class Desk {
  /** Called for each call that reaches it. */
  onCall = (_call: Call): void => {};
  readonly #time: Time;
  readonly #chance: Chance;
  readonly #ledger: Ledger;

  constructor(time: Time, chance: Chance, ledger: Ledger) {
    this.#time = time;
    this.#chance = chance;
    this.#ledger = ledger;
  }

  /** A process asks for a report. A request that has reached the service stays there when the process ends. */
  ask({ body, signal }: Init, mode: ServiceMode, realm: Realm): ReturnType<Fetch> {
    const asked = JSON.parse(body ?? "{}") as { webhook_url: string; domains: string[] };
    const end = this.#endIn(mode);
    const isTaken = this.#isTaken(end);
    return new Promise((resolve, reject) => {
      const answer = (): void => {
        if (end === "cut") reject(new TypeError("fetch failed"));
        else if (typeof end === "number") resolve(responseOf(end, asked.domains));
      };
      signal.addEventListener("abort", () => reject(signal.reason));
      if (end === "not sent") {
        const cause = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
        return reject(new TypeError("fetch failed", { cause }));
      }
      const status = typeof end === "number" ? end : null;
      const url = asked.webhook_url;
      const call: Call = { id: requestIdIn(url), url, isTaken, status };
      this.#time.in(this.#chance.between(1, 30), () => {
        this.#arrived(asked, call);
        const ms = mode === "slow" ? this.#chance.between(500, 12_000) : this.#chance.below(300);
        this.#time.in(ms, answer, realm);
      });
    });
  }

  #arrived(report: { readonly domains: readonly string[] }, call: Call): void {
    const { wishes } = this.#ledger;
    const wish = wishes.of(report);
    if (wish === undefined) throw new Error("A report is asked for that nobody wants");
    const { w, asked, calls } = wish;
    const outcome = call.status ?? "no answer";
    this.#ledger.tell("request", `w=${w} ${call.id}: ${outcome}${call.isTaken ? ", taken" : ""}`);
    const other = wishes.withRequest(call.id);
    if (other !== undefined && other !== wish) this.#ledger.breaks(`w=${w} has the id of another`);
    const open = calls.filter((one) => !isRefused(one));
    const resent = asked.filter(({ resend }) => resend).length;
    if (open.length > resent) this.#ledger.breaks(`w=${w} was sent again unasked`);
    calls.push(call);
    this.onCall(call);
  }

  #endIn(mode: ServiceMode): End {
    const chance = this.#chance;
    if (mode === "unreachable") return "not sent";
    if (mode === "hanging") return "silence";
    if (mode === "losing") return chance.yes(70) ? "cut" : 201;
    if (mode === "failing") return chance.one([500, 502, 503]);
    if (mode === "limiting") return 429;
    if (mode === "refusing") return chance.one([401, 403]);
    const end = chance.weighed(ends);
    if (end === "answered") return 201;
    if (end === "refused") return chance.one([400, 404, 422]);
    return end === "failed" ? chance.one([500, 503, 429]) : end;
  }

  #isTaken(end: End): boolean {
    if (end === "silence" || end === "cut") return this.#chance.yes(60);
    if (typeof end !== "number" || end === 429) return false;
    return end < 300 || (end >= 500 && this.#chance.yes(40));
  }
}

function responseOf(status: number, domains: readonly string[]): Awaited<ReturnType<Fetch>> {
  return {
    status,
    type: "basic",
    redirected: false,
    headers: { get: () => null },
    text: async () => JSON.stringify({ accepted: domains }),
  };
}
