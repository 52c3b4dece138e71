import { afterEach, expect, it, vi } from "vitest";
import { readKeys } from "./keyboard.ts";

const ctrlZ = { name: "z", ctrl: true, sequence: "\u001a" };
const { platform } = process;
afterEach(() => {
  Object.defineProperty(process, "platform", { value: platform });
  vi.restoreAllMocks();
});

/** Presses Ctrl-Z on a platform; returns how often it ended and which signals were sent. */
function pressCtrlZ(on: NodeJS.Platform): { readonly ended: number; readonly signals: unknown[] } {
  Object.defineProperty(process, "platform", { value: on });
  const kill = vi.spyOn(process, "kill").mockReturnValue(true);
  const stdin = Object.assign(process.stdin, { setRawMode: vi.fn() });
  const end = vi.fn();
  const keyboard = readKeys(true, { press: () => {}, end, resumed: () => {} });
  stdin.emit("keypress", undefined, ctrlZ);
  keyboard.close();
  stdin.pause();
  process.removeAllListeners("SIGCONT");
  return { ended: end.mock.calls.length, signals: kill.mock.calls.map(([, signal]) => signal) };
}

it("readKeys() ends on Ctrl-Z on Windows, which has no signal for it, and suspends elsewhere", () => {
  expect(pressCtrlZ("win32")).toEqual({ ended: 1, signals: [] });
  expect(pressCtrlZ("linux")).toEqual({ ended: 0, signals: ["SIGTSTP"] });
});
