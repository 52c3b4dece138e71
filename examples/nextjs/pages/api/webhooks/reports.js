// The Pages Router, whose body parser comes first.
import { nodeHandler } from "@reporthook/core/node";

let handler;

export default async function reports(req, res) {
  // Imported with the first request: a build has no key.
  handler ??= nodeHandler((await import("../../../receiver.js")).receiver);
  return handler(req, res);
}
