import { createClient } from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { sqliteInbox } from "@reporthook/sqlite";
import { createApp, createReports } from "./app.ts";

const { PORT = "3000", REPORTS_URL = "", REPORTS_API_KEY = "" } = process.env;
const client = createClient({ baseUrl: REPORTS_URL, apiKey: REPORTS_API_KEY });
const receiver = createReports(client, sqliteInbox("inbox.db"));
const server = createApp(receiver).listen(Number(PORT), () => {
  console.log(`Listening on port ${PORT}`);
});
process.once("SIGTERM", () => shutdown(server, receiver));
