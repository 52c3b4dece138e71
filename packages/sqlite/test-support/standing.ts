import { standInProcess } from "../../core/test-support/standing-process.ts";
import { sqliteInbox } from "../src/index.ts";

await standInProcess((path) => sqliteInbox(path));
