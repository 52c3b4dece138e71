import { exitStatusOf, UsageError } from "./lib/errors.ts";
import { createTerminal } from "./lib/terminal.ts";
import { createProgram } from "./program.ts";

const given = process.argv.slice(2);
const end = given.indexOf("--");
const json = given.slice(0, end === -1 ? undefined : end).includes("--json");
const terminal = createTerminal(json, process.env);

// The command goes on: exit() would leave some of the named deliveries as they were, and a paid report untold.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  // The reader of the output may stop early (`| head`).
  if (code === "EPIPE" || process.exitCode) return;
  process.exitCode = 1;
  process.stderr.write(
    `reporthook: The output can't be written (${code}), all else is done: look before you repeat it\n`,
  );
});
// A closed stderr does not change the exit code.
process.stderr.on("error", () => {});

try {
  if (given.some((arg) => /^--?api[-_]?key/i.test(arg))) {
    throw new UsageError(
      "The API key comes from REPORTS_API_KEY only: other users can see a command line",
    );
  }
  await createProgram(terminal).parseAsync(process.argv);
} catch (error) {
  const { exitCode, code, message, answer, done } = exitStatusOf(error);
  process.exitCode = exitCode;
  if (message !== "") {
    terminal.tell(`${terminal.paint("red", "reporthook:", true)} ${terminal.clean(message)}`);
    if (answer?.body !== undefined)
      terminal.tell(terminal.clean(JSON.stringify(answer.body, null, 2)));
    terminal.emit({ ...done, error: { code, message, ...answer } }, []);
  }
}
