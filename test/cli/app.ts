import {
  createClient,
  createReceiver,
  type Receiver,
  type ReceiverOptions,
} from "@reporthook/core";
import {
  createEmulator,
  type NotificationName,
  type NotificationOptions,
} from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import { expect } from "vitest";

/** The service that apps ask; its notifications are those that they are sent. */
export const emulator: ReturnType<typeof createEmulator> = createEmulator();

/** An app on a file, in this process. */
export interface App {
  readonly receiver: Receiver;
  /** Sends it a notification of the service; resolves to the delivery's id. */
  send(name: NotificationName, options?: NotificationOptions): Promise<string>;
  /** Ends it once nothing is left to do. */
  finish(): Promise<void>;
}

/** Opens an app; it has no handlers yet. */
export function openApp(file: string, options: Partial<ReceiverOptions> = {}): App {
  const receiver = createReceiver({
    client: createClient(emulator.clientOptions),
    inbox: sqliteInbox(file),
    logger: false,
    ...patient,
    ...options,
  });
  return {
    receiver,
    async send(name, given) {
      const request = new Request("http://app/hook", emulator.notification(name, given));
      const answer = await receiver.fetch(request);
      expect(answer.status).toBe(200);
      return ((await answer.json()) as { id: string }).id;
    },
    async finish() {
      await receiver.idle({ timeoutMs: 60_000 });
      await receiver.close();
    },
  };
}
