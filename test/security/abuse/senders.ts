import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import type { Notification } from "@reporthook/emulator";

const connections = 32;

/** The senders to an address: strangers over some connections, and the service over a new one each time. */
export class Senders {
  readonly #url: string;
  readonly #strangers = new Agent({ keepAlive: true, maxSockets: connections });
  // A connection that is kept may end at the moment in which it is used again.
  readonly #service = new Agent({ keepAlive: false });

  constructor(url: string) {
    this.#url = url;
  }

  /** Sends one as the service does. */
  async send(notification: Notification): Promise<{ readonly status: number }> {
    return { status: await this.#post(notification, this.#service) };
  }

  /** Sends many as strangers do; resolves to how often each status came. */
  async all(notifications: readonly Notification[]): Promise<Map<number, number>> {
    const statuses = await Promise.all(
      notifications.map((each) => this.#post(each, this.#strangers)),
    );
    const counts = new Map<number, number>();
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
    return counts;
  }

  close(): void {
    this.#strangers.destroy();
    this.#service.destroy();
  }

  async #post({ headers, body }: Notification, agent: Agent): Promise<number> {
    const sending = request(this.#url, { method: "POST", agent, headers });
    sending.end(body);
    const [answer] = (await once(sending, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode ?? 0;
  }
}
