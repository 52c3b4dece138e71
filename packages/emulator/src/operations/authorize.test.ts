import { expect, test } from "vitest";
import { createEmulator, type Emulator } from "../emulator.ts";
import type { SignatureKind } from "../notifications/signature.ts";

const KEY = "k+y/ä&1";

function ask(emulator: Emulator, signature: string | undefined, key = KEY, init: RequestInit = {}) {
  const url = new URL("/v1/webhooks/authorize", emulator.clientOptions.baseUrl);
  url.searchParams.set("api_key", key);
  const headers = signature === undefined ? {} : { "X-svc-authorization": signature };
  return emulator.fetch(url, { method: "POST", headers, ...init });
}

function signatureOf(emulator: Emulator, signature: SignatureKind = "valid"): string | undefined {
  return emulator.notification("report", { signature }).headers["X-svc-authorization"];
}

test.each([
  ["valid", 200],
  ["invalid", 406],
  ["expired", 424],
] as const)("authorize() of a signature that is %s answers %i", async (kind, status) => {
  const emulator = createEmulator({ apiKey: KEY });
  const response = await ask(emulator, signatureOf(emulator, kind));
  expect(response.status).toBe(status);
  expect(await response.json()).toEqual({ signature: kind });
});

test.each(["wrong", "", `[${KEY}]`, `${KEY} `])(
  "authorize() answers 401 when the key is %j, and never shows the right one",
  async (key) => {
    const emulator = createEmulator({ apiKey: KEY });
    const response = await ask(emulator, signatureOf(emulator), key);
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain(KEY);
  },
);

test("authorize() answers 401 when the key comes in the header of the test operation", async () => {
  const emulator = createEmulator({ apiKey: KEY });
  const response = await emulator.fetch("http://emulator.invalid/v1/webhooks/authorize", {
    method: "POST",
    headers: { "api-key": KEY, "X-svc-authorization": signatureOf(emulator) ?? "" },
  });
  expect(response.status).toBe(401);
});

test.each([undefined, "", "  "])("authorize() answers 400 when the header is %j", async (value) => {
  expect((await ask(createEmulator({ apiKey: KEY }), value)).status).toBe(400);
});

test("authorize() answers 400 when a body is sent", async () => {
  const emulator = createEmulator({ apiKey: KEY });
  const response = await ask(emulator, signatureOf(emulator), KEY, { body: "{}" });
  expect(response.status).toBe(400);
});

test("the route /emulator/asked tells the answers about a signature, until reset()", async () => {
  const emulator = createEmulator({ apiKey: KEY });
  const signature = signatureOf(emulator) ?? "";
  const answers = async (of: string): Promise<unknown> => {
    const headers = { "X-svc-authorization": of };
    const init = { method: "POST", headers };
    return (await emulator.fetch("http://emulator.invalid/emulator/asked", init)).json();
  };
  expect(await answers(signature)).toEqual({ answers: [] });
  await ask(emulator, signature, "wrong");
  await ask(emulator, signature);
  await ask(emulator, "another");
  expect(await answers(signature)).toEqual({ answers: [401, 200] });
  for (let i = 0; i < 999; i++) await ask(emulator, `forged ${i}`);
  expect(await answers(signature)).toEqual({ answers: [] });
  expect(await answers("another")).toEqual({ answers: [406] });
  emulator.reset();
  expect(await answers("another")).toEqual({ answers: [] });
});
