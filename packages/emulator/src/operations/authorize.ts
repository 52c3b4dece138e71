import { Refused, type ServiceReply } from "../http/answer.ts";
import type { IncomingCall } from "../http/call.ts";
import { SIGNATURE_HEADER } from "../notifications/notification.ts";
import type { Signer, Verdict } from "../notifications/signature.ts";

const STATUS: Readonly<Record<Verdict, number>> = { valid: 200, invalid: 406, expired: 424 };

/**
 * Verifies a notification's signature (the service's document, section 1). It refuses a wrong key, a
 * missing header and a body, so that a client notices its mistakes.
 */
export async function authorize(
  call: IncomingCall,
  isKey: (given: string | null) => boolean,
  signer: Signer,
): Promise<ServiceReply> {
  if (!isKey(call.url.searchParams.get("api_key"))) {
    throw new Refused(401, ["The query parameter api_key must be the API key, without brackets."]);
  }
  const signature = call.header(SIGNATURE_HEADER)?.trim();
  if (!signature) throw new Refused(400, [`The header ${SIGNATURE_HEADER} is missing.`]);
  if ((await call.readBody()).byteLength > 0)
    throw new Refused(400, ["The request must have no body."]);
  const verdict = signer.check(signature);
  return { status: STATUS[verdict], body: { signature: verdict } };
}

/** The statuses answered about each signature, in order. */
export interface AuthorizeLog {
  note(call: IncomingCall, answer: () => Promise<ServiceReply>): Promise<ServiceReply>;
  /** Answers with the statuses about the call's signature. */
  answer(call: IncomingCall): Promise<ServiceReply>;
  clear(): void;
}

const maxSignatures = 1_000;

/** Records answers about the newest 1,000 signatures, to check whether an app asks, and with the right key. */
export function createAuthorizeLog(): AuthorizeLog {
  const statuses = new Map<string, number[]>();

  return {
    async note(call, answer) {
      const signature = call.header(SIGNATURE_HEADER)?.trim() ?? "";
      const noted = statuses.get(signature) ?? [];
      statuses.delete(signature);
      statuses.set(signature, noted);
      const [oldest] = statuses.keys();
      if (statuses.size > maxSignatures && oldest !== undefined) statuses.delete(oldest);
      try {
        const given = await answer();
        noted.push(given.status);
        return given;
      } catch (error) {
        if (error instanceof Refused) noted.push(error.answer.status);
        throw error;
      }
    },
    async answer(call) {
      const signature = call.header(SIGNATURE_HEADER)?.trim() ?? "";
      return { status: 200, body: { answers: statuses.get(signature) ?? [] } };
    },
    clear: () => statuses.clear(),
  };
}
