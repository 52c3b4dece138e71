// The parts that tests of other packages, and those in test/, reach into. Not published.
export { type Database, loadDriver, type Row } from "./src/database/driver.ts";
export { sqliteCode } from "./src/database/result-code.ts";
export { countIn, kindOf, namesOf } from "./src/protocol/counts.ts";
