import { serve } from "@hono/node-server";
import { createClient } from "@reporthook/core";
import { shutdown } from "@reporthook/core/node";
import { sqliteInbox } from "@reporthook/sqlite";
import { createApp, createReports } from "./app.ts";

const { PORT = "3000", REPORTS_URL = "", REPORTS_API_KEY = "" } = process.env;
const client = createClient({ baseUrl: REPORTS_URL, apiKey: REPORTS_API_KEY });
const receiver = createReports(client, sqliteInbox("inbox.db"));
const { fetch } = createApp(receiver);
const server = serve({ fetch, port: Number(PORT) }, ({ port }) => {
  console.log(`Listening on port ${port}`);
});
process.once("SIGTERM", () => shutdown(server, receiver));
