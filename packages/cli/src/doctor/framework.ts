import { randomUUID } from "node:crypto";
import { type Exchange, exchange } from "../lib/exchange.ts";
import { type Check, pass } from "./checks.ts";

/** The traces of frameworks: in `x-powered-by`, or the whole 404 page. The first that fits counts. */
const traces: readonly (readonly [name: string, poweredBy: RegExp | null, page: RegExp | null])[] =
  [
    ["Next.js", /^Next\.js/, null],
    ["NestJS", null, /^\{"message":"Cannot GET [^"]*","error":"Not Found","statusCode":404\}$/],
    ["Express", /^Express/, /<pre>Cannot GET \S*<\/pre>/],
    [
      "Fastify",
      null,
      /^\{"message":"Route GET:\S* not found","error":"Not Found","statusCode":404\}$/,
    ],
    ["Hono", null, /^404 Not Found$/],
    ["Koa", null, /^Not Found$/],
  ];

/** Names the framework of an endpoint, by the headers of its answer and by the page of an address that it can't have. */
export async function checkFramework(to: string, answer: Exchange): Promise<Check> {
  const missing = await exchange(new URL(`/${randomUUID()}`, to).href, { method: "GET" });
  const found = traces.find(
    ([, poweredBy, page]) =>
      [answer, missing].some((one) => poweredBy?.test(header(one, "x-powered-by"))) ||
      (missing.status === 404 && page?.test(missing.body)),
  );
  return pass("framework", found?.[0] ?? "unknown");
}

/** The check with its line to type as the framework has it: Koa routes with a router. */
export function inFramework(check: Check, framework: string | undefined): Check {
  if (framework !== "Koa" || check.type === undefined) return check;
  return { ...check, type: check.type.replace(/^app\.post/, "router.post") };
}

function header(answer: Exchange, name: string): string {
  return (answer.status !== null && answer.headers.get(name)) || "";
}
