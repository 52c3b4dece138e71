import module from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { tryGet } from "@reporthook/core/store";

/** An installed module. */
export interface Installed {
  readonly file: string;
  /** Loads it; throws when it doesn't load. */
  load(): unknown;
}

/** Loads a file that was found, in the way that webpack leaves alone. */
export function loadFile(file: string): unknown {
  return module.createRequire(file)(file);
}

// A bundle by webpack has the URL that this file had where the bundle was made; one as CommonJS by esbuild has none.
const placeOfThisFile = (): string => dirname(fileURLToPath(import.meta.url));

/** The folders from which modules are found: this file's, the bundle's, the program's, and the working directory. */
export function placesOfModules(): string[] {
  const places = [
    tryGet(placeOfThisFile),
    // Only CommonJS has it.
    tryGet(() => dirname(__filename)),
    tryGet(() => dirname(process.argv[1] as string)),
    // It may have been removed.
    tryGet(() => process.cwd()),
  ];
  return [...new Set(places)].filter((place) => place !== undefined);
}

/** The installed module of that name; undefined when there is none. */
export function findInstalled(name: string): Installed | undefined {
  for (const place of placesOfModules()) {
    const require = module.createRequire(join(place, "index.js"));
    const file = tryGet(() => require.resolve(name));
    if (file === undefined) continue;
    const isLibsqlHere = name === "libsql" && place === tryGet(placeOfThisFile);
    return { file, load: () => (isLibsqlHere ? loadLibsql() : require(file)) };
  }
  return undefined;
}

/** The installed libsql, in a form that file tracers recognize and bundlers don't: it has a native part. */
function loadLibsql(): unknown {
  const requireHere = module.createRequire(import.meta.url);
  return requireHere("libsql");
}
