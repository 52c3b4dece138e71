import { createClient, createReceiver } from "@reporthook/core";
import { nodeHandler, shutdown } from "@reporthook/core/node";
import { sqliteInbox } from "@reporthook/sqlite";
import Fastify from "fastify";

const { PORT = "3000", REPORTS_URL: baseUrl, REPORTS_API_KEY: apiKey } = process.env;
const receiver = createReceiver({
  client: createClient({ baseUrl, apiKey }),
  inbox: sqliteInbox("inbox.db"),
});
receiver.on("report.complete", (event) => console.log(`Report ${event.reportId} is ready`));
const answer = nodeHandler(receiver);

const app = Fastify();
app.register((webhooks, _options, done) => {
  // Fastify would parse the body, and answer 400 and 415 itself: here it leaves the stream alone.
  webhooks.removeAllContentTypeParsers();
  webhooks.addContentTypeParser("*", (_request, _payload, done) => done(null));
  webhooks.post("/webhooks/reports", (request, reply) => answer(request.raw, reply.hijack().raw));
  done();
});
await app.listen({ port: Number(PORT) });
process.once("SIGTERM", async () => {
  await shutdown(app.server, receiver);
  await app.close();
});
