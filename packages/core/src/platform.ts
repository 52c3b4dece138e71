/** The platforms that are told apart. */
type Platform = "Cloudflare Workers" | "AWS Lambda";

/** A platform that may freeze or end an instance as soon as it has answered; null where a process lives on. */
export function serverlessPlatform(): Platform | null {
  const { navigator, process, Deno } = globalThis as {
    navigator?: { readonly userAgent?: string };
    process?: { readonly env?: Readonly<Record<string, string | undefined>> };
    Deno?: unknown;
  };
  if (navigator?.userAgent === "Cloudflare-Workers") return "Cloudflare Workers";
  // Deno would ask its user for leave to look at the environment.
  if (Deno !== undefined) return null;
  return process?.env?.["AWS_LAMBDA_FUNCTION_NAME"] ? "AWS Lambda" : null;
}

/**
 * Whether timers and input or output belong to the request they began in, and end with it: then nothing may be left to
 * another request, which may be gone by then.
 */
export function isTiedToRequests(): boolean {
  return serverlessPlatform() === "Cloudflare Workers";
}
