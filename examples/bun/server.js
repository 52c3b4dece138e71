import { createClient, createReceiver } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";

const { PORT = "3000", REPORTS_URL: baseUrl, REPORTS_API_KEY: apiKey } = process.env;
const receiver = createReceiver({
  client: createClient({ baseUrl, apiKey }),
  inbox: sqliteInbox("inbox.db"),
});
receiver.on("report.complete", (event) => console.log(`Report ${event.reportId} is ready`));

const server = Bun.serve({
  port: Number(PORT),
  routes: { "/webhooks/reports": { POST: (request) => receiver.fetch(request) } },
});
process.once("SIGTERM", async () => {
  await server.stop();
  await receiver.close();
});
