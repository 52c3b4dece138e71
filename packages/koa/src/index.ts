export { type KoaContext, type KoaHandler, reporthook } from "./reporthook.ts";
