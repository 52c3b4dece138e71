import { type Asset, assets } from "../page.generated.ts";
import { answer } from "./answer.ts";

const zipped = new Map<string, Promise<ArrayBuffer>>();

/** A file of the page, or null when there is none of that name. */
export async function fileOf(request: Request, name: string): Promise<Response | null> {
  if (!Object.hasOwn(assets, name)) return null;
  const { type, text } = assets[name] as Asset;
  // The names of all others change with their content.
  const cache = name === "index.html" ? "no-cache" : "private, max-age=31536000, immutable";
  const headers = { "Content-Type": type, "Cache-Control": cache, Vary: "Accept-Encoding" };
  const isZipped = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(
    request.headers.get("accept-encoding") ?? "",
  );
  if (!isZipped) return answer(200, text, headers);
  const stream = () => new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = zipped.get(name) ?? new Response(stream()).arrayBuffer();
  zipped.set(name, bytes);
  return answer(200, await bytes, { ...headers, "Content-Encoding": "gzip" });
}
