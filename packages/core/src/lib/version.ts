/** The version of this package; a guard compares it with package.json. */
export const version = "0.1.0";
