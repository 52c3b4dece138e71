export { type KoaContext, onKoa, onNode } from "./node-handler.ts";
