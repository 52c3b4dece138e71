import { execFileSync } from "node:child_process";
import { missingProgram, testWith } from "@reporthook/test-support/needs";
import { describe, expect, it } from "vitest";
import { cli, cliFails } from "./process.ts";

/** The words that bash offers at the end of a line. */
async function completed(line: string): Promise<string[]> {
  const { out } = await cli(["completion", "bash"]);
  const words = line.split(" ");
  const script = `${out}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_reporthook
echo "\${COMPREPLY[@]}"`;
  const shown = execFileSync("bash", ["-c", script], { encoding: "utf8" });
  return shown.trim().split(" ");
}

describe("completion", () => {
  it("reporthook completion bash completes commands, options and their choices", async () => {
    expect(await completed("reporthook in")).toEqual(["inbox"]);
    expect(await completed("reporthook inbox e")).toEqual(["export", "errors", "erase"]);
    expect(await completed("reporthook inbox list --rep")).toEqual(["--report-id"]);
    expect(await completed("reporthook inbox retry --state ")).toEqual([
      "received",
      "verified",
      "rejected",
    ]);
    expect(await completed("reporthook inbox release --reason at")).toEqual(["attempts_used_up"]);
    expect(await completed("reporthook inbox show 01m7 --j")).toEqual(["--json"]);
  });

  it("reporthook completion has a script for zsh and fish, and names the shells for another", async () => {
    const zsh = await cli(["completion", "zsh"]);
    expect(zsh.out).toMatch(/^autoload -U \+X bashcompinit && bashcompinit\n_reporthook/);
    const fish = await cli(["completion", "fish"]);
    expect(fish.out).toContain(
      "complete -c reporthook -n '__fish_seen_subcommand_from inbox; and __fish_seen_subcommand_from retry' -l state -x -a 'received verified rejected' -d ",
    );
    expect(fish.out).toContain("complete -c reporthook -n '__fish_use_subcommand' -a inbox -d ");
    await cliFails(2, ["completion", "tcsh"], "bash, zsh, fish");
  });

  for (const shell of ["zsh", "fish"]) {
    testWith(missingProgram(shell))(
      `reporthook completion ${shell} is a script that ${shell} reads`,
      async () => {
        const { out } = await cli(["completion", shell]);
        const read = shell === "zsh" ? `autoload -Uz compinit && compinit -u\n${out}` : out;
        execFileSync(shell, ["-c", read]);
      },
    );
  }
});
