import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "@reporthook/test-support/free-port";

/** A proxy that listens. */
export interface Nginx {
  readonly port: number;
  /** Its errors, without refused connections. */
  readonly output: string;
  end(): Promise<void>;
}

/**
 * Starts nginx in front of apps, with kept connections to them. All else is as nginx has it: a POST that was sent to one app
 * is sent to no other, and after a refused connection an app gets nothing for 10 seconds, unless `maxFails` is 0.
 */
export async function startNginx(
  folder: string,
  appPorts: readonly number[],
  maxFails: number,
): Promise<Nginx> {
  const port = await freePort();
  const log = join(folder, "nginx.log");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const config = `
    daemon off;
    master_process off;
    pid ${folder}/nginx.pid;
    error_log ${log};
    events {}
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join("\n      ")}
      upstream apps {
        ${appPorts.map((appPort) => `server 127.0.0.1:${appPort} max_fails=${maxFails};`).join("\n        ")}
        keepalive 16;
      }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://apps;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
        }
      }
    }
`;
  const file = join(folder, "nginx.conf");
  writeFileSync(file, config);
  const child = spawn("nginx", ["-p", folder, "-c", file, "-e", log], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  await listening(child, port);
  return {
    port,
    get output() {
      const lines = readFileSync(log, "utf8").split("\n");
      return lines.filter((line) => !line.includes("Connection refused")).join("\n");
    },
    async end() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`nginx has ended with ${child.exitCode}`);
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
