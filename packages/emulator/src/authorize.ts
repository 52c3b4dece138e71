import { type Answer, Refused } from "./answer.ts";
import type { Call } from "./call.ts";
import { SIGNATURE_HEADER } from "./notification.ts";
import type { Signer, Verdict } from "./signature.ts";

const STATUS: Readonly<Record<Verdict, number>> = { valid: 200, invalid: 406, expired: 424 };

/**
 * Verifies a notification's signature (the service's document, section 1). A wrong key, a missing
 * header and a body are refused, so that a client which strays from the document notices.
 */
export async function authorize(
  call: Call,
  isKey: (given: string | null) => boolean,
  signer: Signer,
): Promise<Answer> {
  if (!isKey(call.url.searchParams.get("api_key"))) {
    throw new Refused(401, ["The query parameter api_key must be the API key, without brackets."]);
  }
  const signature = call.header(SIGNATURE_HEADER)?.trim();
  if (!signature) throw new Refused(400, [`The header ${SIGNATURE_HEADER} is missing.`]);
  if ((await call.readBody()).byteLength > 0) throw new Refused(400, ["No body may be sent."]);
  const verdict = signer.check(signature);
  return { status: STATUS[verdict], body: { signature: verdict } };
}
