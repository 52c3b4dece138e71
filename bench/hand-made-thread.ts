// The thread of the hand-made way: what arrived during a commit goes into the next.
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { openTable, type StoredRow } from "./hand-made-table.ts";

const table = openTable(workerData as string);
const port = parentPort;
port?.on("message", (first: StoredRow[]) => {
  const rows = [...first];
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
    rows.push(...(next.message as StoredRow[]));
  }
  table.insert(rows);
  port.postMessage(rows.length);
});
