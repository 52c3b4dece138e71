import { Refused, type ServiceReply } from "../http/answer.ts";
import type { IncomingCall } from "../http/call.ts";
import type { Operation } from "../http/service.ts";
import { SIGNATURE_HEADER } from "../notifications/notification.ts";
import type { Signer, Verdict } from "../notifications/signature.ts";

const STATUS: Readonly<Record<Verdict, number>> = { valid: 200, invalid: 406, expired: 424 };

const maxSignatures = 1_000;

/**
 * Verifies the signatures of notifications (the service's document, section 1), and answers the emulator's own question, by which an
 * app's key is checked: what the newest 1,000 signatures were answered.
 */
export class Authorizing {
  readonly #isKey: (given: string | null) => boolean;
  readonly #signer: Signer;
  /** The statuses answered about each signature, in order. */
  readonly #statuses = new Map<string, number[]>();

  constructor(isKey: (given: string | null) => boolean, signer: Signer) {
    this.#isKey = isKey;
    this.#signer = signer;
  }

  readonly operation: Operation = {
    path: "/v1/webhooks/authorize",
    target: "authorize",
    run: (call) => this.#authorize(call),
  };

  /** The emulator's own operation. */
  readonly asked: Operation = {
    path: "/emulator/asked",
    run: async (call) => {
      return { status: 200, body: { answers: this.#statuses.get(signatureOf(call)) ?? [] } };
    },
  };

  clear(): void {
    this.#statuses.clear();
  }

  async #authorize(call: IncomingCall): Promise<ServiceReply> {
    const signature = signatureOf(call);
    const statuses = this.#statuses.get(signature) ?? [];
    this.#statuses.delete(signature);
    this.#statuses.set(signature, statuses);
    const [oldest] = this.#statuses.keys();
    if (this.#statuses.size > maxSignatures && oldest !== undefined) this.#statuses.delete(oldest);
    try {
      const reply = await this.#reply(call, signature);
      statuses.push(reply.status);
      return reply;
    } catch (error) {
      if (error instanceof Refused) statuses.push(error.answer.status);
      throw error;
    }
  }

  /** Refuses a wrong key, a missing header and a body, so that a client notices its mistakes. */
  async #reply(call: IncomingCall, signature: string): Promise<ServiceReply> {
    if (!this.#isKey(call.url.searchParams.get("api_key"))) {
      const rule = "The query parameter api_key must be the API key, without brackets.";
      throw new Refused(401, [rule]);
    }
    if (!signature) throw new Refused(400, [`The header ${SIGNATURE_HEADER} is missing.`]);
    if ((await call.readBody()).byteLength > 0) {
      throw new Refused(400, ["The request must have no body."]);
    }
    const verdict = this.#signer.check(signature);
    return { status: STATUS[verdict], body: { signature: verdict } };
  }
}

function signatureOf(call: IncomingCall): string {
  return call.header(SIGNATURE_HEADER)?.trim() ?? "";
}
