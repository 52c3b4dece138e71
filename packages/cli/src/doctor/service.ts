import { randomUUID } from "node:crypto";
import { ServiceError } from "@reporthook/core";
import type { Advice } from "../lib/advice.ts";
import type { Service } from "../lib/environment.ts";
import { withVariables } from "../lib/errors.ts";
import { quoted } from "../lib/layout.ts";
import { type Check, pass } from "./checks.ts";

const wrongService: Advice = {
  fix: "Check that this is the real service, and do not go live before: forged notifications would be handled.",
  type: "export REPORTS_URL=https://…",
};

/** Checks that the service answers 406 to a made-up signature. */
export async function checkService({
  client,
  baseUrl,
}: Pick<Service, "client" | "baseUrl">): Promise<Check> {
  const name = "service";
  try {
    const verdict = await client.authorize(`made-up-${randomUUID()}`);
    if (verdict === "invalid") return pass(name, `${baseUrl} refuses a made-up signature (406)`);
    const answered = verdict === "valid" ? "VALID (200)" : "EXPIRED (424)";
    const says = `${baseUrl} CALLS A MADE-UP SIGNATURE ${answered}: IT WOULD VOUCH FOR ANYBODY`;
    return { name, result: "fail", says, ...wrongService };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const says = `asked about a made-up signature: ${withVariables(error.message)}`;
    return { name, result: "fail", says, ...adviceAbout(error, baseUrl) };
  }
}

function adviceAbout({ code, serviceStatus }: ServiceError, baseUrl: string): Advice {
  if (code === "service_refused") {
    const fix = "Use the key that the service gave you.";
    return { fix, type: "read -rs REPORTS_API_KEY && export REPORTS_API_KEY" };
  }
  if (serviceStatus === undefined) {
    return { fix: "Check REPORTS_URL and the way there.", type: `curl -i ${quoted(baseUrl)}` };
  }
  return { ...wrongService, fix: "An answer other than 406 is no verdict: check REPORTS_URL." };
}
