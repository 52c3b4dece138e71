import { sqliteInbox } from "@reporthook/sqlite";
import { standInProcess } from "./standing-process.ts";

await standInProcess((path) => sqliteInbox(path));
