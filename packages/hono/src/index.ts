export { type HonoContext, type HonoHandler, reporthook } from "./reporthook.ts";
