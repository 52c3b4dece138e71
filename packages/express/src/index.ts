export { type ExpressHandler, reporthook } from "./reporthook.ts";
