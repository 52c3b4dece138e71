import { createClient, createReceiver } from "@reporthook/core";

const { REPORTS_URL: baseUrl, REPORTS_API_KEY: apiKey } = process.env;
const receiver = createReceiver({
  client: createClient({ baseUrl, apiKey }),
  ack: "handled",
});
receiver.on("report.complete", (event) => console.error(`Report ${event.reportId} is ready`));

/** Takes the events of a function URL, and of an HTTP API with payload format 2.0. */
export async function handler({ rawPath, rawQueryString, headers, requestContext, ...event }) {
  const url = `https://${requestContext.domainName}${rawPath}?${rawQueryString}`;
  const { method } = requestContext.http;
  const encoding = event.isBase64Encoded ? "base64" : "utf8";
  const body = method === "POST" ? Buffer.from(event.body ?? "", encoding) : null;
  const answer = await receiver.fetch(new Request(url, { method, headers, body }));
  const { status: statusCode } = answer;
  return { statusCode, headers: Object.fromEntries(answer.headers), body: await answer.text() };
}
