// `pnpm test` and `pnpm test:all`: says what comes, then runs vitest, with all that is given passed on to it.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const [asked, ...given] = process.argv.slice(2);
// What is named runs whole.
const lane = given.length > 0 && !given[0].startsWith("-") ? "all" : asked;
const told = {
  quick:
    "The tests that fit into two or three minutes on two cores: units, contracts of inboxes and of frameworks, types, the README's code,\na kill at each named point, 30 simulated worlds, the tour. All others too: npx --yes pnpm@10 test:all (10 minutes).",
  all: "All tests, which take about 10 minutes on two cores. The quick ones: npx --yes pnpm@10 test.",
};
if (lane === asked) console.log(`\n${told[lane]}`);

const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
const child = spawn(process.execPath, [vitest, "run", ...given], {
  env: { ...process.env, TEST_LANE: lane },
  stdio: "inherit",
});
// The terminal's Ctrl-C reaches both: vitest ends, and then this does.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
