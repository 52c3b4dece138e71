import { env } from "cloudflare:workers";
import { createClient, createReceiver } from "@reporthook/core";

const receiver = createReceiver({
  client: createClient({ baseUrl: env.REPORTS_URL, apiKey: env.REPORTS_API_KEY }),
  ack: "handled",
});
receiver.on("report.complete", (event) => console.log(`Report ${event.reportId} is ready`));

export default {
  async fetch(request, _env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/webhooks/reports") return receiver.fetch(request, ctx);
    return new Response("Not found", { status: 404 });
  },
};
