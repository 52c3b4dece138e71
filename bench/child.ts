import { type ChildProcess, fork } from "node:child_process";
import { Stopped } from "./benchmark.ts";

/** A process of ours that answers each question with one message. */
export interface Child {
  /** Sends `message`; resolves to the answer, and rejects with why there is none. */
  ask<Answer>(message: unknown): Promise<Answer>;
  /** Sends without waiting for an answer. */
  tell(message: unknown): void;
  /** Calls `listener` for messages that are no answers. */
  onNews(listener: (news: unknown) => void): void;
  /** The id of its process. */
  readonly pid: number;
  end(): Promise<void>;
}

/** A message from a child: an answer, news, or the reason of its failure. */
type Message =
  | { readonly answer: unknown }
  | { readonly news: unknown }
  | { readonly failed: string };

interface Asked {
  resolve(answer: unknown): void;
  reject(error: Error): void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** How a child is started. */
export interface Start {
  /** The checkout whose packages it takes. */
  readonly build?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

const silenceMs = 120_000;
/** Where children leave a CPU profile when they end. */
const profiles = (): string | undefined => process.env["BENCH_PROFILES"];
const running = new Set<ChildProcess>();
let stopped: Stopped | undefined;

/** Ends all children: what was asked rejects with `reason`, and none is started any more. */
export function stopChildren(reason: string): void {
  stopped ??= new Stopped(reason);
  for (const child of running) child.kill("SIGKILL");
}

/** Starts the compiled program `name` in a separate process. */
export function startChild(name: string, { build, env = {} }: Start = {}): Child {
  if (stopped) throw stopped;
  const child = fork(new URL(`./programs/${name}.js`, import.meta.url), {
    env: { ...process.env, ...env, ...(build !== undefined && { BENCH_BUILD: build }) },
    execArgv: [
      ...(build === undefined ? [] : [`--import=${new URL("./other-build.js", import.meta.url)}`]),
      ...(profiles() === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles()}`]),
    ],
  });
  running.add(child);
  let listener = (_news: unknown): void => {};
  let asked: Asked | undefined;
  let failure: Error | undefined;
  const fail = (error: Error): void => {
    failure ??= stopped ?? error;
    asked?.reject(failure);
  };
  child.on("message", (message: Message) => {
    asked?.timer.refresh();
    if ("news" in message) listener(message.news);
    else if ("failed" in message)
      fail(new Error(`its process "${name}" failed: ${message.failed}`));
    else asked?.resolve(message.answer);
  });
  child.on("error", fail);
  child.on("exit", (code, signal) => {
    running.delete(child);
    fail(new Error(whyEnded(name, code, signal)));
  });
  return {
    ask: <Answer>(message: unknown) =>
      new Promise<Answer>((resolve, reject) => {
        if (failure) return reject(failure);
        const silent = `its process "${name}" said nothing for ${silenceMs / 1_000} s: see whether the disk or the engine hangs`;
        const timer = setTimeout(() => reject(new Error(silent)), silenceMs);
        const done =
          <Value>(settle: (value: Value) => void) =>
          (value: Value) => {
            clearTimeout(timer);
            settle(value);
          };
        asked = {
          resolve: done(resolve as (answer: unknown) => void),
          reject: done(reject),
          timer,
        };
        if (child.connected) child.send(message as object);
      }),
    tell: (message) => {
      if (child.connected) child.send(message as object);
    },
    onNews(call) {
      listener = call;
    },
    pid: child.pid ?? 0,
    end: () => ended(child),
  };
}

/** In a child: answers every question with what `answer` resolves to. */
export function answerParent<Question>(answer: (question: Question) => unknown): void {
  process.on("disconnect", () => process.exit());
  // Ctrl-C reaches every process of the terminal: the parent says when to end.
  process.on("SIGINT", () => {});
  process.on("uncaughtException", (error) => {
    console.error(error);
    process.send?.({ failed: error.message } satisfies Message, () => process.exit(1));
  });
  process.on("message", async (question: Question) => {
    try {
      const answered = await answer(question);
      if (answered !== undefined) send({ answer: answered });
    } catch (error) {
      console.error(error);
      send({ failed: error instanceof Error ? error.message : String(error) });
    }
  });
}

/** In a child: tells something that was not asked for. */
export function tellParent(news: unknown): void {
  send({ news });
}

function send(message: Message): void {
  process.send?.(message);
}

function whyEnded(name: string, code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === null)
    return `its process "${name}" ended with exit code ${code}, and said why above`;
  const memory = signal === "SIGKILL" ? ", by somebody or by the system when memory ran out" : "";
  return `its process "${name}" was ended by ${signal}${memory}`;
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    // One that is to leave a profile has to end by itself.
    if (profiles() !== undefined && child.connected) child.disconnect();
    else child.kill("SIGKILL");
  });
}
