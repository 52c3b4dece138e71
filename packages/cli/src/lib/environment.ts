import { type Client, type ClientOptions, createClient } from "@reporthook/core";
import { UsageError, withVariables } from "./errors.ts";
import { publicKey } from "./redact.ts";

/** Where the playground's service listens unless told otherwise. */
export const playgroundPort = 4747;

/** Where a dashboard listens unless told otherwise. */
export const dashboardPort = 4748;

/** Where the playground takes notifications. */
export const webhookPath = "/webhooks/reports";

/** Where the playground shows its inbox. */
export const dashboardPath = "/dashboard/";

/** How whoever runs this program calls it: in a clone of the repository it is a script of the workspace, as npx finds none. */
export function program(): string {
  const isClone = process.env["npm_package_name"] === "reporthook-workspace";
  return isClone ? "npx --yes pnpm@10 -s reporthook" : "npx reporthook";
}

/** A client of the service that `REPORTS_URL` and `REPORTS_API_KEY` name; the key is taken from nowhere else. */
export function clientFromEnvironment(rest: Pick<ClientOptions, "reportAuth"> = {}): Client {
  const baseUrl = process.env["REPORTS_URL"] ?? "";
  const apiKey = process.env["REPORTS_API_KEY"] ?? "";
  const missing = [
    ...(baseUrl === "" ? ["REPORTS_URL"] : []),
    ...(apiKey === "" ? ["REPORTS_API_KEY"] : []),
  ];
  if (missing.length > 0) {
    throw new UsageError(
      `Set ${missing.join(" and ")} in the environment: this command calls the service`,
    );
  }
  return clientOf({ baseUrl, apiKey, ...rest });
}

/** The same for the service that signatures are to be made for: the playground's, unless the environment names another. */
export function emulatorFromEnvironment(): { readonly client: Client; readonly baseUrl: string } {
  const given = process.env["REPORTS_URL"] ?? "";
  const baseUrl = given === "" ? `http://127.0.0.1:${playgroundPort}` : given;
  return { client: clientOf({ baseUrl, apiKey: emulatorKey() }), baseUrl };
}

/**
 * The key that the emulator signs with: that of the environment, or the public one.
 *
 * @throws UsageError when it can be none
 */
export function emulatorKey(): string {
  const key = process.env["REPORTS_API_KEY"] ?? "";
  if (key === "") return publicKey;
  clientOf({ baseUrl: "http://127.0.0.1", apiKey: key });
  return key;
}

function clientOf(options: ClientOptions): Client {
  try {
    return createClient(options);
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(withVariables(error.message));
    throw error;
  }
}
