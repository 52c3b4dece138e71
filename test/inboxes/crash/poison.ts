import { expect } from "vitest";
import { brokenPromises } from "./promises.ts";
import type { Scene } from "./scene.ts";
import { patienceMs, until } from "./sender.ts";

const maxStarts = 5;

/**
 * Has a delivery end its process until it is parked, beside six others; the supervisor starts the app again each time.
 * Then the handler is fixed and the delivery released.
 */
export async function poisoned(scene: Scene, beside: string, aheadMs: number): Promise<void> {
  const { sender } = scene;
  let app = scene.start({ aheadMs });
  const others = Array.from({ length: 6 }, () => sender.make(beside));
  const deadly = sender.make("deadly-100");
  const told = (): boolean => app.lines.some((line) => line["reason"] === "poison");
  while (!told()) {
    const unanswered = sender.sent.filter(({ ids }) => ids.size === 0);
    const url = await app.url.catch(() => "");
    await Promise.all(unanswered.map((sent) => sender.send(url, sent)));
    await until("it ends its process or is parked", () => app.isOver || told());
    if (app.isOver) app = scene.start({ aheadMs });
  }
  const [id = ""] = deadly.ids;
  expect(await app.get(id)).toMatchObject({ state: "dead", reason: { code: "poison" } });
  const starts = scene.runs().filter((run) => run.id === id && run.at === "start");
  expect(starts).toHaveLength(maxStarts);
  expect(await scene.kills()).toBe(maxStarts);
  await app.idle(patienceMs);
  const handled = (await app.list()).filter(({ state }) => state === "handled");
  const sent = others.flatMap(({ ids }) => [...ids]);
  expect(handled.map((one) => one.id).sort()).toEqual(sent.sort());

  scene.put("fixed");
  await app.release(id);
  expect(await brokenPromises(scene, app)).toEqual([]);
  expect(scene.effects()).toContain(id);
}
