// Loaded ahead of a program: has it take our packages from the checkout that BENCH_BUILD names.
import { type ResolveHook, register } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";

const parentURL = pathToFileURL(join(process.env["BENCH_BUILD"] ?? "", "package.json")).href;

/** Resolves the names of our packages as the root of that checkout does. */
export const resolve: ResolveHook = (specifier, context, next) =>
  next(specifier, specifier.startsWith("@reporthook/") ? { ...context, parentURL } : context);

if (isMainThread) register(import.meta.url);
