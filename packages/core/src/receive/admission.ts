import { type Called, withoutToken } from "../callback-urls/callback-url.ts";
import type { Recognition } from "../events/recognize.ts";
import type { Refusal } from "../http/answer.ts";
import { type Incoming, plainHeaders } from "../http/incoming.ts";
import { type Arrival, type NewDelivery, park } from "../inbox/delivery.ts";
import { maxUnsigned } from "../inbox/retention.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Runner } from "../run/runner.ts";
import { createRate } from "./rate.ts";

const maxUnsignedTests = 100;
// A stranger's signatures are as good as others until the service is asked.
const maxWithoutToken = 1_000;

/** Decides which requests are admitted: limits the load, and those that lack a signature or the token that is required. */
export class Admission {
  readonly #settings: ReceiverSettings;
  readonly #runner: Pick<Runner, "phase">;
  readonly #reporter: Pick<Reporter, "tell">;
  readonly #isUnsignedInRate: () => boolean;
  readonly #isTokenlessInRate: () => boolean;

  constructor(
    settings: ReceiverSettings,
    runner: Pick<Runner, "phase">,
    reporter: Pick<Reporter, "tell">,
  ) {
    this.#settings = settings;
    this.#runner = runner;
    this.#reporter = reporter;
    this.#isUnsignedInRate = createRate(settings.clock);
    this.#isTokenlessInRate = createRate(settings.clock);
  }

  /** The refusal of any request at this moment; null if there is none. */
  refusal(): Refusal | null {
    const { ack, inbox, limits, name, oncePerMinute } = this.#settings;
    // While it is closing, it stores: a sender is refused only when nothing is left that could work on it.
    if (this.#runner.phase === "closed") return { refused: "closing" };
    if (ack === "handled") return null;
    const { waiting, unverified } = inbox.backlog(name);
    if (waiting < limits.waiting && unverified < limits.unverified) return null;
    oncePerMinute.warn({ waiting, unverified }, messages.overloaded);
    return { refused: "overloaded" };
  }

  /**
   * Whether to read a request: without the token that is required its report may have been requested before. `isSigned` is whether
   * it may be.
   */
  isRead({ context, token }: Called, isSigned: boolean): boolean {
    if (context !== withoutToken) return true;
    const { ack, oncePerMinute } = this.#settings;
    const isRead = isSigned && ack === "stored" && this.#isTokenlessInRate();
    oncePerMinute.warn({ token }, isRead ? messages.tokenAwaited : messages.tokenRefused);
    return isRead;
  }

  /** Whether there is room for a delivery: at most 1,000 are kept without the token that is required. */
  isKept({ context }: Pick<NewDelivery, "context">): boolean {
    if (context !== withoutToken) return true;
    const { inbox, name, oncePerMinute } = this.#settings;
    const isKept = inbox.backlog(name).withoutToken < maxWithoutToken;
    if (!isKept) oncePerMinute.warn({ kept: maxWithoutToken }, messages.tokenRefused);
    return isKept;
  }

  /** The first state of a notification without a signature; null if it is refused, by the options or as there are too many. */
  unsigned(claims: Recognition, incoming: Pick<Incoming, "headers">): Arrival | null {
    const headers = Object.keys(plainHeaders(incoming.headers));
    const arrival = this.#unsigned(claims, headers);
    if (arrival?.to !== "verified") this.#reporter.tell("unsigned", headers);
    return arrival;
  }

  #unsigned(claims: Recognition, headers: readonly string[]): Arrival | null {
    const { ack, inbox, name, oncePerMinute, unsignedTests, unsigned } = this.#settings;
    const test = isTest(claims);
    if ((test ? unsignedTests : unsigned) === "refuse") {
      oncePerMinute.warn({ headers }, messages.unsignedRefused);
      return null;
    }
    const load = inbox.backlog(name);
    const full = test ? load.unsignedWaiting >= maxUnsignedTests : load.unsignedHeld >= maxUnsigned;
    if (full || !this.#isUnsignedInRate()) {
      oncePerMinute.warn({ headers }, messages.tooManyUnsigned);
      return null;
    }
    const { type, reportId } = claims;
    if (test) return { to: "verified", verification: "unsigned", type, reportId };
    // Where nothing is stored, what would be held is refused.
    const isRefused = ack === "handled";
    oncePerMinute.warn({ headers }, isRefused ? messages.unsignedRefused : messages.unsignedHeld);
    const message = "It came without a signature. Release it if you trust it.";
    return { ...park("held", "unsigned", message), verification: "unsigned", type, reportId };
  }
}

function isTest({ type }: Recognition): boolean {
  return type === "test_webhook_endpoint";
}
