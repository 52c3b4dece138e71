import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { createClient, createReceiver, DoNotRetry } from "@reporthook/core";
import { dashboard } from "@reporthook/dashboard";
import { onNode } from "@reporthook/dashboard/node";
import { createEmulator } from "@reporthook/emulator";
import { telemetry } from "@reporthook/opentelemetry";
import { freePort } from "@reporthook/test-support/free-port";
import { missingProgram, testWith } from "@reporthook/test-support/needs";
import { patient } from "@reporthook/test-support/patient";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { expect, onTestFinished } from "vitest";

const monitoring = fileURLToPath(new URL("../../packages/dashboard/monitoring", import.meta.url));

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [at: number, value: string];
}

/** A Prometheus that scrapes these paths of a server each second. */
async function startPrometheus(
  target: string,
  paths: Readonly<Record<string, string>>,
): Promise<{
  query(expr: string): Promise<readonly Sample[]>;
  rules(): Promise<readonly { readonly name: string; readonly health: string }[]>;
}> {
  const folder = temporaryFolder();
  const port = await freePort();
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: [join(monitoring, "rules.yml")],
    scrape_configs: Object.entries(paths).map(([job_name, metrics_path]) => ({
      job_name,
      metrics_path,
      static_configs: [{ targets: [target] }],
    })),
  };
  const file = join(folder, "prometheus.yml");
  await writeFile(file, JSON.stringify(config));
  const child: ChildProcess = spawn(
    "prometheus",
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const ask = async (path: string): Promise<unknown> => {
    expect(child.exitCode, "Prometheus has ended").toBe(null);
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return ((await answer.json()) as { readonly data: unknown }).data;
  };
  await expect
    .poll(() => ask("status/buildinfo").catch(() => null), { timeout: 60_000 })
    .not.toBe(null);
  return {
    async query(expr) {
      const { result } = (await ask(`query?query=${encodeURIComponent(expr)}`)) as {
        readonly result: readonly Sample[];
      };
      return result;
    },
    async rules() {
      const { groups } = (await ask("rules")) as {
        readonly groups: readonly { readonly rules: readonly { name: string; health: string }[] }[];
      };
      return groups.flatMap(({ rules }) => rules);
    },
  };
}

testWith(missingProgram("prometheus"))(
  "a real Prometheus finds what every rule asks for, fires for a problem, and tells that the receiver has gone",
  async () => {
    const exporter = new PrometheusExporter({ preventServerStart: true });
    const measuring = new MeterProvider({ readers: [exporter] });
    const emulator = createEmulator();
    const receiver = createReceiver({
      client: createClient(emulator.clientOptions),
      logger: false,
      ...patient,
      ...telemetry({ meter: measuring.getMeter("test") }),
    });
    receiver.on("report", ({ reportId }) => {
      if (reportId === "gone") throw new DoNotRetry("no such report");
    });
    const page = onNode(dashboard(receiver, { logger: false }));
    const server: Server = createServer((req, res) => {
      if (req.url === "/otel") exporter.getMetricsRequestHandler(req, res);
      else void page(req, res);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await receiver.close();
      await measuring.shutdown();
      await emulator.close();
    });
    const send = async (reportId: string): Promise<void> => {
      const notification = emulator.notification("report.complete", { reportId });
      await receiver.fetch(new Request("https://app.example/hook", notification));
    };
    await send("gone");
    const { port } = server.address() as AddressInfo;
    const paths = { app: "/inbox/metrics", otel: "/otel" };
    const prometheus = await startPrometheus(`127.0.0.1:${port}`, paths);

    const parked = 'reporthook_deliveries_parked{reporthook_reason="do_not_retry"}';
    await expect.poll(async () => (await prometheus.query(parked))[0]?.value[1]).toBe("1");
    const both =
      'count(reporthook_deliveries_waiting{messaging_destination_name="reports"}) by (job)';
    await expect
      .poll(async () => (await prometheus.query(both)).map(({ metric }) => metric["job"]).sort())
      .toEqual(["app", "otel"]);

    const isWell = async (): Promise<boolean> =>
      (await prometheus.rules()).every(({ health }) => health === "ok");
    await expect.poll(isWell).toBe(true);
    const firing =
      'ALERTS{alertname="ReporthookProblem",alertstate="firing",code="parked",severity="warning"}';
    await expect
      .poll(async () => (await prometheus.query(firing)).map(({ metric }) => metric["job"]).sort())
      .toEqual(["app", "otel"]);
    const alerts = 'ALERTS{alertname="ReporthookMissing"}';
    // It is pending until the first scrape.
    await expect.poll(() => prometheus.query(alerts)).toEqual([]);
    await receiver.close();
    await expect.poll(() => prometheus.query(alerts)).not.toEqual([]);
    const down = 'ALERTS{alertname="ReporthookDown"}';
    await expect
      .poll(async () => (await prometheus.query(down)).map(({ metric }) => metric["job"]))
      .toEqual(["app"]);
  },
);
