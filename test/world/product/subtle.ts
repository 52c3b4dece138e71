import { createHmac, timingSafeEqual } from "node:crypto";

/** HMAC with SHA-256 as the web has it. Node makes it in threads, which answer when they like: here it is made at once. */
export const subtle = {
  importKey: async (_format: "raw", secret: Uint8Array): Promise<Uint8Array> => secret,
  sign: async (_algorithm: string, key: Uint8Array, data: Uint8Array): Promise<Uint8Array> =>
    createHmac("sha256", key).update(data).digest(),
  verify: async (
    _algorithm: string,
    key: Uint8Array,
    mac: Uint8Array,
    data: Uint8Array,
  ): Promise<boolean> => timingSafeEqual(createHmac("sha256", key).update(data).digest(), mac),
};
