import { once } from "node:events";
import type { Server } from "node:http";
import { createClient, createReceiver, memoryInbox, type Receiver } from "@reporthook/core";
import { createEmulator, type Emulator, type Notification } from "@reporthook/emulator";
import request from "supertest";
import { afterEach, beforeEach } from "vitest";

/** An order that one of these apps has stored. */
export interface Order {
  readonly id: number;
  readonly item: string;
}

/** A page that is worth compressing. */
export const pageOfManyWords: string = `<!doctype html><title>Shop</title>${"<p>Reports, and more reports.</p>".repeat(100)}`;

/** An app as it may have stood for years, and the receiver in it: new ones in each test. */
export interface ExistingApp {
  emulator: Emulator;
  receiver: Receiver;
  server: Server;
  /** The reports whose end was handled. */
  completed: (string | null)[];
  deliver(notification: Notification): request.Test;
}

/** Has an app with a receiver listen before each test of the file. */
export function existingApp(listen: (receiver: Receiver) => Server): ExistingApp {
  const app = {
    deliver: ({ headers, body }) =>
      request(app.server).post("/webhooks/reports").set(headers).send(body),
  } as ExistingApp;

  beforeEach(async () => {
    app.emulator = createEmulator();
    const client = createClient(app.emulator.clientOptions);
    app.receiver = createReceiver({ client, inbox: memoryInbox(), logger: false });
    app.completed = [];
    app.receiver.on("report.complete", ({ reportId }) => void app.completed.push(reportId));
    app.server = listen(app.receiver);
    await once(app.server, "listening");
  });

  afterEach(async () => {
    await new Promise((resolve) => app.server.close(resolve));
    await app.receiver.close();
    await app.emulator.close();
  });
  return app;
}
