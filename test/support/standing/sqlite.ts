import { sqliteInbox } from "@reporthook/sqlite";
import { standInProcess } from "./process.ts";

await standInProcess((path) => sqliteInbox(path));
