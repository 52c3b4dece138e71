import { createHmac, randomBytes } from "node:crypto";
import { sameText } from "../lib/same-text.ts";

/** The verdict on a signature: 200, 406 and 424 in the service's document, section 1. */
export type Verdict = "valid" | "invalid" | "expired";

/** The kind of a notification's signature: the verdict it will get, or none. */
export type SignatureKind = Verdict | "none";

/** Validity of a signature, in milliseconds (the service's document, section Limits). */
export const SIGNATURE_VALID_MS = 300_000;

/** Age of an expired signature: expired even for a verifier whose clock is slightly behind. */
const EXPIRED_AGE_MS: number = SIGNATURE_VALID_MS + 60_000;
const SHAPE = /^(v1\.(\d{1,15})\.[\w-]{22})\.([\w-]{43})$/;

/**
 * Signs and verifies without state: any process with the API key can do both.
 * A signature is `v1.<issued, ms>.<nonce>.<HMAC-SHA256 of all before>`.
 */
export interface Signer {
  /** Creates a signature that will get this verdict, different on every call. */
  sign(verdict: Verdict): string;
  /** Verifies. Expired means *more* than 5 minutes (section 1): at exactly 5 minutes it is still valid. */
  check(signature: string): Verdict;
}

/** Creates the signer of one API key; `now` is in milliseconds. */
export function createSigner(apiKey: string, now: () => number): Signer {
  const secret = createHmac("sha256", apiKey).update("reporthook emulator, signature v1").digest();
  const mac = (text: string): string =>
    createHmac("sha256", secret).update(text).digest("base64url");

  return {
    sign(verdict) {
      const issued = Math.floor(now()) - (verdict === "expired" ? EXPIRED_AGE_MS : 0);
      const signed = `v1.${issued}.${randomBytes(16).toString("base64url")}`;
      const forged = verdict === "invalid";
      return `${signed}.${forged ? randomBytes(32).toString("base64url") : mac(signed)}`;
    },
    check(signature) {
      const [, signed, issued, given] = SHAPE.exec(signature) ?? [];
      if (signed === undefined || given === undefined) return "invalid";
      if (!sameText(given, mac(signed))) return "invalid";
      return Math.floor(now()) - Number(issued) > SIGNATURE_VALID_MS ? "expired" : "valid";
    },
  };
}
