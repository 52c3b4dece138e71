import { serve } from "@hono/node-server";
import { createClient } from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { sqliteInbox } from "@reporthook/sqlite";
import { createApp, createReports } from "./app.ts";

const { PORT = "3000", APP_URL = `http://127.0.0.1:${PORT}` } = process.env;
const { REPORTS_URL = "", REPORTS_API_KEY = "", REPORTS_CALLBACK_SECRET = "" } = process.env;
const client = createClient({ baseUrl: REPORTS_URL, apiKey: REPORTS_API_KEY });
const receiver = createReports(client, sqliteInbox("inbox.db"), REPORTS_CALLBACK_SECRET, APP_URL);
const { fetch } = createApp(receiver);
const server = serve({ fetch, port: Number(PORT) }, ({ port }) => {
  console.log(`Listening on port ${port}`);
});
process.once("SIGTERM", () => shutdown(server, receiver));
