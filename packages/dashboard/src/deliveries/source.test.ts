import { createClient, createReceiver, memoryInbox } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { expect, it, vi } from "vitest";
import { ofInbox } from "./source.ts";

it("ofInbox() tells that the service refuses the API key of the app", async () => {
  const emulator = createEmulator();
  const inbox = memoryInbox();
  const client = createClient({ ...emulator.clientOptions, apiKey: "another-key" });
  const receiver = createReceiver({ client, inbox, clock: emulator.clock, logger: false });
  const source = ofInbox(inbox);
  expect((await source.health()).service).toBe("unknown");
  const notification = emulator.notification("report.complete");
  await receiver.fetch(new Request("https://app.example/hook", notification));
  await vi.waitFor(async () => {
    // The app tells it with its next sign of life.
    emulator.clock.advance(5_000);
    expect((await source.health()).service).toBe("refused");
  });
  await receiver.close();
});
