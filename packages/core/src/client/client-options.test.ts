import { expect, it } from "vitest";
import { messages } from "../log-messages.ts";
import { createReceiver } from "../receiver.ts";
import { createClient } from "./client.ts";

it.each([
  ["http://reports.example/path", "http://reports.example"],
  ["http://10.0.0.7:4747", "http://10.0.0.7:4747"],
  ["https://reports.example", undefined],
  ["http://localhost:4747", undefined],
  ["http://app.localhost", undefined],
  ["http://127.0.0.1:4747", undefined],
  ["http://[::1]:4747", undefined],
])("createReceiver() warns once of a client whose baseUrl is %s: %s", async (baseUrl, warned) => {
  const lines: unknown[] = [];
  const warn = (fields: object, message: string): void => void lines.push([fields, message]);
  const client = createClient({ baseUrl, apiKey: "key-of-nobody" });
  const receiver = createReceiver({ client, ack: "handled", logger: { warn } });
  const message = messages.insecure;
  expect(lines).toEqual(
    warned === undefined ? [] : [[{ receiver: "reports", baseUrl: warned }, message]],
  );
  await receiver.close();
});
