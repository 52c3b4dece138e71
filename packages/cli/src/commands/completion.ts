import { Argument, type Command } from "commander";
import { withExamples } from "../lib/options.ts";
import type { Terminal } from "../lib/terminal.ts";

/** A command with its options and the choices of each, as a shell completes it. */
interface Completed {
  /** `reporthook inbox list` */
  readonly path: string;
  readonly words: readonly (readonly [word: string, what: string])[];
  readonly choices: readonly (readonly [option: string, words: readonly string[]])[];
}

/** Adds `completion`: prints a script for a shell, made of all commands and options. */
export function addCompletion(program: Command, terminal: Terminal): void {
  const command = program
    .command("completion")
    .description("Print a script that completes commands and options.")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts) => {
      const script = scripts[shell](completedIn(program, program.name()));
      terminal.emit({ script }, script);
    });
  withExamples(command, {
    bash: "source <(reporthook completion bash)",
    zsh: "source <(reporthook completion zsh)",
    fish: "reporthook completion fish | source",
  });
}

function completedIn(command: Command, path: string): Completed[] {
  const options = command.createHelp().visibleOptions(command);
  const words = [
    ...command.commands.map((one) => [one.name(), one.summary() || one.description()] as const),
    ...options.map(({ long, description }) => [long ?? "", description] as const),
  ];
  const choices = options.flatMap(({ long, argChoices = [] }) =>
    argChoices.length === 0 ? [] : [[long ?? "", argChoices] as const],
  );
  const below = command.commands.flatMap((one) => completedIn(one, `${path} ${one.name()}`));
  return [{ path, words, choices }, ...below];
}

const scripts = {
  bash: bashScript,
  zsh: (all: readonly Completed[]) =>
    `autoload -U +X bashcompinit && bashcompinit\n${bashScript(all)}`,
  fish: fishScript,
};

/** The words before the cursor that are no options are the path of the command. */
function bashScript(all: readonly Completed[]): string {
  const cases = all.flatMap(({ path, words, choices }) => [
    ...choices.map(([option, of]) => `    "${path}|${option}") words="${of.join(" ")}" ;;`),
    `    "${path}|"*) words="${words.map(([word]) => word).join(" ")}" ;;`,
  ]);
  return `_reporthook() {
  local words path=reporthook word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
${all
  .slice(1)
  .map(({ path }) => `      "${path}") path="${path}" ;;`)
  .join("\n")}
    esac
  done
  case "$path|\${COMP_WORDS[COMP_CWORD-1]}" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _reporthook reporthook`;
}

function fishScript(all: readonly Completed[]): string {
  const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
  return all
    .flatMap(({ path, words, choices }) => {
      const [, ...names] = path.split(" ");
      const seen = names.map((name) => `__fish_seen_subcommand_from ${name}`);
      const at = quoted(seen.length === 0 ? "__fish_use_subcommand" : seen.join("; and "));
      return words.map(([word, what]) => {
        const of = choices.find(([option]) => option === word)?.[1];
        const values = of === undefined ? "" : ` -x -a ${quoted(of.join(" "))}`;
        const name = word.startsWith("--") ? `-l ${word.slice(2)}${values}` : `-a ${word}`;
        return `complete -c reporthook -n ${at} ${name} -d ${quoted(what)}`;
      });
    })
    .join("\n");
}
