import { resolve } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { installCli } from "./install.ts";
import { endAll, useProgram } from "./process.ts";
import "./completion.ts";
import "./callback.ts";
import "./dashboard.ts";
import "./dev.ts";
import "./dev-keys.ts";
import "./doctor.ts";
import "./inbox/inbox.ts";
import "./inbox/many.ts";
import "./inbox/receivers.ts";
import "./inbox/retry.ts";
import "./output.ts";
import "./reports.ts";
import "./service.ts";
import "./story.ts";
import "./untrusted.ts";
import "./usage.ts";

// The command line as it is installed from its packed tarball, in one file: it is built, packed and installed once.
// CLI_PROGRAM names a built one to use instead, like packages/cli/dist/esm/main.js.
beforeAll(async () => {
  const given = process.env["CLI_PROGRAM"];
  useProgram(given === undefined ? await installCli() : resolve(given));
}, 300_000);

afterAll(endAll);
