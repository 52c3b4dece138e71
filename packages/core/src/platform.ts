/** A platform that may freeze or end an instance as soon as it has answered; null where a process lives on. */
export function serverlessPlatform(): "Cloudflare Workers" | "AWS Lambda" | null {
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
