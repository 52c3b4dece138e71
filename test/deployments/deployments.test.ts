import { evidence } from "@reporthook/test-support/evidence";
import { missingProgram, testWith } from "@reporthook/test-support/needs";
import { afterAll, describe, expect } from "vitest";
import type { Framework } from "./app.ts";
import { deploy, type Plan } from "./deployment.ts";
import { rowOf, tableOf } from "./table.ts";

// The long run: DEPLOYMENT_RESTARTS=20.
const long = process.env["DEPLOYMENT_RESTARTS"];
const restarts = Number(long ?? 2);
const rates = long === undefined ? [50] : [50, 500];
const frameworks: readonly Framework[] = ["node:http", "Express", "Koa", "Hono"];
const noNginx = missingProgram("nginx", "nginx-light");

const plans: Plan[] = rates.flatMap((perSecond) => {
  const traffic = { restarts, perSecond, connections: 16 };
  return [
    ...frameworks.map((framework) => ({ framework, way: "alone", ...traffic }) as const),
    { framework: "Express", way: "cluster", ...traffic },
  ];
});
// nginx makes no new connection while a process stops listening: a machine that stands still then loses it.
const proxied = { framework: "Express", restarts, perSecond: 100, connections: 1 } as const;
plans.push({ ...proxied, way: "nginx, max_fails=0" }, { ...proxied, way: "nginx" });
if (long !== undefined) {
  plans.push({ ...proxied, way: "nginx, max_fails=0", connections: 16 });
}

describe.concurrent("deployments", () => {
  const rows: string[] = [];
  for (const plan of plans) {
    const { connections, framework, way, perSecond } = plan;
    const isProxied = way.startsWith("nginx");
    testWith(isProxied ? noNginx : null)(
      `no notification is lost in ${restarts} restarts: ${framework}, ${way}, ${perSecond} a second over ${connections}`,
      async () => {
        const outcome = await deploy(plan, (done) => {
          if (long !== undefined) console.log(`${framework}, ${way}, ${perSecond}: ${done}`);
        });
        const row = rowOf(plan, outcome);
        rows.push(row);
        if (long !== undefined) console.log(row);
        const { acknowledged, answers, ended, lost, output, refused, reset } = outcome;
        const did = { restarts: ended.length, notifications: outcome.sent };
        evidence("deployments", did, { lost: lost.length });
        // By itself: its own time-out is longer than it may live.
        const endedSo = ended.map(({ code, signal }) => ({ code, signal }));
        expect(endedSo, output).toEqual(Array(restarts).fill({ code: 0, signal: null }));
        expect({ answers, lost, reset }, output).toEqual({
          answers: { 200: acknowledged },
          lost: [],
          reset: [],
        });
        // One process after the other on one port leaves a gap.
        if (way !== "alone") expect(refused).toBe(0);
      },
      120_000 + restarts * 100_000,
    );
  }
  afterAll(() => {
    if (long !== undefined) console.log(tableOf(rows));
  });
});
