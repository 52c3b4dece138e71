import { createEmulator } from "@reporthook/emulator";

/** A message from the tour to the service's process. */
export type ServiceRequest = { readonly setStatus: "complete" | "internal_error" };

/** The message from the service's process to the tour. */
export type ServiceMessage = { readonly url: string; readonly apiKey: string };

// The service in a separate process. The app talks to it over HTTP alone; the tour asks by message for
// the change of a report's status, which happens inside the service.
const emulator = createEmulator();
const { url } = await emulator.listen();
process.send?.({ url, apiKey: emulator.clientOptions.apiKey } satisfies ServiceMessage);

process.on("message", ({ setStatus }: ServiceRequest) => {
  for (const report of emulator.reports.list())
    void emulator.reports.setStatus(report.id, setStatus);
});
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => {});
