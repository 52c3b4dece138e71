import { expect, test } from "vitest";
import { createSigner, SIGNATURE_VALID_MS, type Verdict } from "./signature.ts";

const VERDICTS: Verdict[] = ["valid", "invalid", "expired"];
const ISSUED = 1_763_700_000_000;

test.each(VERDICTS)("sign() never makes the same %s signature twice", (verdict) => {
  const signer = createSigner("key", () => ISSUED);
  expect(new Set(Array.from({ length: 50 }, () => signer.sign(verdict))).size).toBe(50);
});

test("sign() gives every kind the same form", () => {
  const signer = createSigner("key", () => ISSUED);
  for (const verdict of VERDICTS) {
    expect(signer.sign(verdict)).toMatch(/^v1\.\d{13}\.[\w-]{22}\.[\w-]{43}$/);
  }
});

test("check() knows a signature of another signer when both have the key", () => {
  const signature = createSigner("key", () => ISSUED).sign("valid");
  expect(createSigner("key", () => ISSUED).check(signature)).toBe("valid");
  expect(createSigner("other", () => ISSUED).check(signature)).toBe("invalid");
});

test("check() says valid when exactly 5 minutes passed, and expired 1 ms later", () => {
  let now = ISSUED;
  const signer = createSigner("key", () => now);
  const signature = signer.sign("valid");
  now = ISSUED + SIGNATURE_VALID_MS;
  expect(signer.check(signature)).toBe("valid");
  now += 1;
  expect(signer.check(signature)).toBe("expired");
});

test("check() knows a signature made at a fraction of a millisecond", () => {
  let now = ISSUED + 0.5;
  const signer = createSigner("key", () => now);
  const signature = signer.sign("valid");
  expect(signer.check(signature)).toBe("valid");
  now += SIGNATURE_VALID_MS;
  expect(signer.check(signature)).toBe("valid");
});

test("check() says expired, not invalid, only when the MAC is right", () => {
  const signer = createSigner("key", () => ISSUED);
  const [version, issued, nonce, mac] = signer.sign("expired").split(".");
  expect(signer.check(`${version}.${issued}.${nonce}.${mac}`)).toBe("expired");
  expect(signer.check(`${version}.${ISSUED}.${nonce}.${mac}`)).toBe("invalid");
});

test.each(["", "v1", "v1.1.2.3", "v2.1763700000000.AAAA.BBBB", "x".repeat(100_000), "é"])(
  "check() says invalid when the form is wrong: %.30s",
  (signature) => {
    expect(createSigner("key", Date.now).check(signature)).toBe("invalid");
  },
);
