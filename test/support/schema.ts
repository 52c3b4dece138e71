import type { Schema } from "@reporthook/core";

/** Makes a Standard Schema of the function that validates. */
export const schemaOf = (validate: Schema["~standard"]["validate"]): Schema => ({
  "~standard": { version: 1, vendor: "test", validate },
});
