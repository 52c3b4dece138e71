import { onTestFinished } from "vitest";
import { type Stage, type StageOptions, startStage } from "./stage.ts";

/** Starts an app, until the test ends. */
export async function appOnStage(options?: StageOptions): Promise<Stage> {
  const stage = await startStage(options);
  onTestFinished(() => stage.close());
  return stage;
}
