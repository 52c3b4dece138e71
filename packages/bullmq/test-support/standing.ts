import { standInProcess } from "../../core/test-support/standing-process.ts";
import { bullmqInbox } from "../src/index.ts";

await standInProcess((store) => {
  const [connection = "", prefix = ""] = store.split(" ");
  return bullmqInbox({ connection, prefix, logger: false });
});
