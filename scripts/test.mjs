// `pnpm test` and `pnpm test:all`, and what `pnpm check` runs after the first: says what comes, then runs vitest, with
// all that is given passed on to it. Fails when a process is left.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { endLeft } from "./left.mjs";

const [asked, ...given] = process.argv.slice(2);
// Files that are named run with all their tests.
const lane = given.length > 0 && !given[0].startsWith("-") ? "all" : asked;
const told = {
  quick:
    "The tests that fit into about two and a half minutes on two cores: units, contracts of the memory\nand SQLite inboxes and of frameworks, the README's code, four kills, 6 simulated worlds. All others too: npx --yes pnpm@10 test:all (12 minutes).",
  all: "All tests, which take about 12 minutes on two cores. The quick ones: npx --yes pnpm@10 test.",
  rest: "What npx --yes pnpm@10 test has left out, but for what takes longest: npx --yes pnpm@10 test:all has that, too.",
};
if (lane === asked) console.log(`\n${told[lane]}`);

const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
// On Linux in a session, by which the processes that a test has left are found at the end.
const detached = process.platform === "linux";
const child = spawn(process.execPath, [vitest, "run", ...given], {
  env: { ...process.env, TEST_LANE: lane },
  stdio: ["ignore", "inherit", "inherit"],
  detached,
});
// The terminal's Ctrl-C reaches this alone.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.kill(detached ? -child.pid : child.pid, signal));
}
child.on("exit", async (code) => {
  process.exitCode = code ?? 1;
  const left = detached ? await endLeft(child.pid) : [];
  if (left.length === 0) return;
  process.exitCode = 1;
  console.error(["Processes were left by the tests:", ...left].join("\n"));
});
