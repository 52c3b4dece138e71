import { bullmqInbox } from "@reporthook/bullmq";
import { standInProcess } from "./process.ts";

await standInProcess((store) => {
  const [connection = "", prefix = ""] = store.split(" ");
  return bullmqInbox({ connection, prefix, logger: false });
});
