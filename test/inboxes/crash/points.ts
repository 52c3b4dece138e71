import type { Client, Inbox, Outcome } from "@reporthook/core";
import type { RequestHandler } from "express";

/** Where a process can be made to end: each name says what it has done last. */
export const points = [
  "before-add",
  "during-add",
  "after-commit",
  "after-answer",
  "during-authorize",
  "after-verdict",
  "during-handler",
  "after-handler",
] as const;

/** One of {@link points}. */
export type Point = (typeof points)[number];

/** At which point, and for the how-maniest that comes there. */
export interface Kill {
  readonly point: Point;
  readonly nth: number;
}

/** Ends this process at once, as a crash does: nothing is written, closed or sent any more. */
export function die(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;);
}

/** The wrappers that an app puts around the product's parts, so that its process ends at one point. */
export interface Around {
  reached(point: Point): void;
  inbox(inner: Inbox): Inbox;
  authorize(inner: Client["authorize"]): Client["authorize"];
  readonly answered: RequestHandler;
}

/** Makes it; without a point nothing ends. */
export function around(kill: Kill | undefined): Around {
  let left = kill?.nth ?? 0;
  const due = (point: Point): boolean => point === kill?.point && --left === 0;
  const reached = (point: Point): void => {
    if (due(point)) die();
  };

  return {
    reached,
    inbox: (inner) =>
      delegating(inner, {
        async add(delivery, arrival) {
          reached("before-add");
          const adding = inner.add(delivery, arrival);
          // The inbox sends the requests of one turn of the event loop to its thread at the end of the turn.
          if (due("during-add")) setImmediate(() => setImmediate(die));
          const added = await adding;
          reached("after-commit");
          return added;
        },
        consume(stage, work, policy) {
          const ending = async (working: Promise<Outcome>): Promise<Outcome> => {
            const outcome = await working;
            if (outcome.to === "handled") reached("after-handler");
            return outcome;
          };
          const { handleAtOnce } = policy;
          return inner.consume(stage, (job, lease) => ending(work(job, lease)), {
            ...policy,
            ...(handleAtOnce && {
              handleAtOnce(job, lease) {
                const handling = handleAtOnce(job, lease);
                return handling && ending(handling);
              },
            }),
          });
        },
      }),
    authorize: (inner) => async (signature, options) => {
      const asking = inner(signature, options);
      if (due("during-authorize")) setImmediate(die);
      const verdict = await asking;
      reached("after-verdict");
      return verdict;
    },
    answered: (_req, res, next) => {
      res.on("finish", () => reached("after-answer"));
      next();
    },
  };
}

function delegating(inner: Inbox, own: Partial<Inbox>): Inbox {
  return new Proxy(inner, {
    get(_, name) {
      const value = Reflect.get(name in own ? own : inner, name) as unknown;
      return typeof value === "function" ? value.bind(inner) : value;
    },
  });
}
