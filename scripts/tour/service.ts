import { createEmulator } from "@reporthook/emulator";

/** What the tour asks of the service's process. */
export type ServiceRequest = { readonly setStatus: "complete" | "internal_error" };

/** What the service's process tells the tour. */
export type ServiceMessage = { readonly url: string; readonly apiKey: string };

// The service in a process of its own: the app talks to it over HTTP alone; only the
// change of a report's status, which happens inside the service, is asked for by message.
const emulator = createEmulator();
const { url } = await emulator.listen();
process.send?.({ url, apiKey: emulator.clientOptions.apiKey } satisfies ServiceMessage);

process.on("message", ({ setStatus }: ServiceRequest) => {
  for (const report of emulator.reports.list())
    void emulator.reports.setStatus(report.id, setStatus);
});
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => {});
