import type { PrismaPg } from "@prisma/adapter-pg";
import * as runtime from "@prisma/client/runtime/client";

/** The part of a generated client that runs SQL. */
interface PrismaClient {
  $queryRawUnsafe<T = unknown>(query: string): runtime.Types.Public.PrismaPromise<T>;
  $transaction<R>(
    work: (tx: Omit<PrismaClient, runtime.ITXClientDenyList>) => Promise<R>,
  ): Promise<R>;
  $disconnect(): Promise<void>;
}

interface Options {
  readonly adapter: PrismaPg;
  /** In milliseconds. */
  readonly transactionOptions: { readonly maxWait: number; readonly timeout: number };
}

// Typed as text: these files have no types.
const compiler: string = "@prisma/client/runtime/query_compiler_small_bg.postgresql";
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };
};

/** The client as `prisma generate` writes it for PostgreSQL and a schema without models; that command downloads a program. */
export const PrismaClient = runtime.getPrismaClient({
  previewFeatures: [],
  clientVersion: "7.10.0",
  engineVersion: "",
  activeProvider: "postgresql",
  inlineSchema:
    'generator client {\n  provider = "prisma-client"\n}\n\ndatasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: "AAAA" },
  compilerWasm: {
    getRuntime: () => import(`${compiler}.mjs`),
    async getQueryCompilerWasmModule() {
      const { wasm } = await import(`${compiler}.wasm-base64.mjs`);
      return new WebAssembly.Module(Buffer.from(wasm, "base64"));
    },
    importName: "./query_compiler_small_bg.js",
  },
}) as unknown as new (
  options: Options,
) => PrismaClient;
