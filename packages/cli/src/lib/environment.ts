import { type Client, type ClientOptions, createClient } from "@reporthook/core";
import { UsageError, withVariables } from "./errors.ts";

/** The emulator's default key, which is not secret: it is printed to be copied. */
export const publicKey = "test-api-key";

/** Default port of the playground. */
export const playgroundPort = 4747;

/** Its address, if it listens there. */
export const playgroundUrl: string = `http://127.0.0.1:${playgroundPort}`;

/** Path of the playground's webhook. */
export const webhookPath = "/webhooks/reports";

/** The inbox file of an app, in its folder, as in the README. */
export const appFile = "inbox.db";

/** File of the playground's inbox. */
export const playgroundFile = ".reporthook/dev.db";

/** The command that runs this program: in a clone of the repository a script of the workspace, else npx. */
export function program(): string {
  const isClone = process.env["npm_package_name"] === "reporthook-workspace";
  return isClone ? "npx --yes pnpm@10 -s reporthook" : "npx reporthook";
}

/** Creates a client from `REPORTS_URL` and `REPORTS_API_KEY`, the only source of the key. */
export function clientFromEnvironment(rest: Pick<ClientOptions, "reportAuth"> = {}): Client {
  const { REPORTS_URL: baseUrl = "", REPORTS_API_KEY: apiKey = "" } = process.env;
  const missing = ["REPORTS_URL", "REPORTS_API_KEY"].filter((name) => !process.env[name]);
  if (missing.length > 0) {
    throw new UsageError(`Set ${missing.join(" and ")}: this command calls the service`);
  }
  return clientOf({ baseUrl, apiKey, ...rest });
}

/** A service and its client. */
export interface Service {
  readonly client: Client;
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** The service of the environment: the playground's, but for the variables that are set. */
export function serviceFromEnvironment(): Service {
  const baseUrl = process.env["REPORTS_URL"] || playgroundUrl;
  const apiKey = emulatorKey();
  return { client: clientOf({ baseUrl, apiKey }), baseUrl, apiKey };
}

/**
 * The key that the emulator signs with: the environment's, or the public one.
 *
 * @throws UsageError if it is not a valid key
 */
export function emulatorKey(): string {
  const apiKey = process.env["REPORTS_API_KEY"] || publicKey;
  clientOf({ baseUrl: playgroundUrl, apiKey });
  return apiKey;
}

function clientOf(options: ClientOptions): Client {
  try {
    return createClient(options);
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(withVariables(error.message));
    throw error;
  }
}
