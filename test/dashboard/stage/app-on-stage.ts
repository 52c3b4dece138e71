import { onTestFinished } from "vitest";
import { failingHandlers, play } from "./scene.ts";
import { type Stage, type StageOptions, startStage } from "./stage.ts";

/** Starts an app, until the test ends. */
export async function appOnStage(options?: StageOptions): Promise<Stage> {
  const stage = await startStage(options);
  onTestFinished(() => stage.close());
  return stage;
}

/** The same with the deliveries that an app has after a while: most are handled, some are stuck. */
export async function playedAppOnStage(options: StageOptions = {}): Promise<Stage> {
  const stage = await appOnStage({ handlers: failingHandlers, ...options });
  await play(stage);
  return stage;
}
