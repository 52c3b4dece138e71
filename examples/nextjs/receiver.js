import { createClient, createReceiver } from "@reporthook/core";

const { REPORTS_URL: baseUrl, REPORTS_API_KEY: apiKey } = process.env;
// Nothing is kept: where Next.js runs may be gone after the answer.
export const receiver = createReceiver({
  client: createClient({ baseUrl, apiKey }),
  ack: "handled",
});
receiver.on("report.complete", (event) => console.log(`Report ${event.reportId} is ready`));
