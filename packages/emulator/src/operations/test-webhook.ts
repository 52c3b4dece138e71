import { Refused } from "../http/answer.ts";
import { isWebhookUrl, readFields } from "../http/call.ts";
import type { Operation } from "../http/service.ts";
import type { Delivery } from "../notifications/delivery.ts";

/**
 * Creates the operation that tests a webhook address (the service's document, section 2): sends the test notification immediately
 * and answers with it, or 400 if the receiver did not answer 2xx within 5 seconds.
 */
export function testingWebhooks(
  isKey: (given: string | null) => boolean,
  send: (url: string) => Promise<Delivery>,
): Operation {
  return {
    path: "/v3/batch/webhooks/test",
    target: "test",
    async run(call) {
      if (!isKey(call.header("api-key"))) {
        throw new Refused(401, ["The header api-key must be the API key."]);
      }
      const { webhook_url: url } = await readFields(call);
      if (!isWebhookUrl(url)) {
        throw new Refused(400, ["webhook_url must be an absolute http or https URL."]);
      }
      const { error, notification } = await send(url);
      if (error !== undefined) throw new Refused(400, [error]);
      return { status: 200, body: JSON.parse(notification.body) };
    },
  };
}
