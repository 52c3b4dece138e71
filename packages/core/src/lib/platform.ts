import { tryGet } from "./safe-get.ts";

interface Global {
  readonly navigator?: { readonly userAgent?: string };
  readonly Deno?: unknown;
  readonly crypto?: { readonly getRandomValues?: unknown };
  readonly AsyncLocalStorage?: AsyncContext;
  readonly process?: {
    readonly versions?: Readonly<Record<string, string | undefined>>;
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly pid?: number;
    getBuiltinModule?(id: string): object | undefined;
  };
}

/** The part of `AsyncLocalStorage` that is used. */
interface AsyncContext {
  snapshot?(): <Args extends readonly unknown[], Result>(
    run: (...args: Args) => Result,
    ...args: Args
  ) => Result;
}

// A feature may throw when it is read, as Next.js' Edge Runtime does for those it lacks.
const platform = globalThis as Global;

/** A platform that may freeze or end an instance as soon as it has answered; null where a process lives on. */
export function serverlessPlatform(): "Cloudflare Workers" | "AWS Lambda" | null {
  if (tryGet(() => platform.navigator?.userAgent) === "Cloudflare-Workers") {
    return "Cloudflare Workers";
  }
  // Deno would ask its user for leave to look at the environment.
  if (tryGet(() => platform.Deno) !== undefined) return null;
  return tryGet(() => platform.process?.env?.["AWS_LAMBDA_FUNCTION_NAME"]) ? "AWS Lambda" : null;
}

/**
 * Whether timers and input or output belong to the request they began in, and end with it: then nothing may be left to
 * another request, which may be gone by then.
 */
export function isTiedToRequests(): boolean {
  return serverlessPlatform() === "Cloudflare Workers";
}

/** Whether a development server runs the app, which evaluates modules again that were saved. */
export function isDevelopment(): boolean {
  return tryGet(() => platform.process?.env?.["NODE_ENV"]) === "development";
}

/**
 * The environment variable that names a proxy for an address, if the global `fetch` ignores it: that of Node does, unless it was
 * told to look, or something has replaced its agent.
 */
export function ignoredProxy(address: string): string | undefined {
  const { env } = tryGet(() => platform.process) ?? {};
  const [agent, older] = [2, 1].map((version) => agentOf(`undici.globalDispatcher.${version}`));
  if (env === undefined || (agent ?? older) !== "Agent") return undefined;
  const { protocol, hostname } = new URL(address);
  const name = `${protocol.slice(0, -1).toUpperCase()}_PROXY`;
  const set = [name, name.toLowerCase(), "ALL_PROXY", "all_proxy"].find((each) => env[each]);
  const direct = (env["NO_PROXY"] ?? env["no_proxy"] ?? "").split(/[\s,]+/).filter(Boolean);
  const isDirect = direct.some((each) => {
    const host = each.replace(/^\*?\.|:\d+$/g, "").toLowerCase();
    return each === "*" || hostname === host || hostname.endsWith(`.${host}`);
  });
  return isDirect ? undefined : set;
}

function agentOf(symbol: string): string | undefined {
  return tryGet(() => (globalThis as Record<symbol, object>)[Symbol.for(symbol)]?.constructor.name);
}

/** A module that is built into the runtime; without members where there is none. */
export function builtin<Module extends object>(id: `node:${string}`): Partial<Module> {
  return (tryGet(() => platform.process?.getBuiltinModule?.(id)) ?? {}) as Partial<Module>;
}

/** The host and the number of this process, where the platform tells. */
export function thisProcess(): { readonly host: string; readonly pid: number } {
  const { hostname } = builtin<{ hostname(): string }>("node:os");
  const host = tryGet(() => hostname?.()) ?? "unknown";
  return { host, pid: tryGet(() => platform.process?.pid) ?? 0 };
}

/** @throws TypeError where there is no `crypto`, as in the sandbox of Jest 27 */
export function mustHaveCrypto(): void {
  if (typeof tryGet(() => platform.crypto?.getRandomValues) === "function") return;
  throw new TypeError(
    "createReceiver needs the global crypto, and there is none: use Jest 28 or later, or set globalThis.crypto to the webcrypto of node:crypto first",
  );
}

/** Has a function run in the async context of another place. */
export type Bind = <Args extends readonly unknown[], Result>(
  run: (...args: Args) => Result,
) => (...args: Args) => Result;

/** Binds functions to the async context of this moment; they stay as they are where the platform has none. */
export function bindingToContext(): Bind {
  const storage =
    tryGet(() => platform.AsyncLocalStorage) ??
    builtin<{ AsyncLocalStorage: AsyncContext }>("node:async_hooks").AsyncLocalStorage;
  const inContext = tryGet(() => storage?.snapshot?.());
  if (inContext === undefined) return (run) => run;
  return (run) =>
    (...args) =>
      inContext(run, ...args);
}

// An older Node would fail later, at the first feature it lacks. Bun and Deno say which Node they are like.
const { node, bun, deno } = tryGet(() => platform.process?.versions) ?? {};
/** Whether it is Node itself, and none that is like it. */
export const isNode: boolean = node !== undefined && (bun ?? deno) === undefined;
if (node !== undefined && isNode) {
  const [major = 0, minor = 0] = node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Error(
      `@reporthook/core needs Node 20.19 or later, not ${node}: install one, and start again`,
    );
  }
}
