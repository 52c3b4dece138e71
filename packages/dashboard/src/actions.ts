import { type Logger, type ReasonCode, ReporthookError } from "@reporthook/core";
import type { Source } from "./deliveries/source.ts";
import { maxDiscarded, type Viewer, type WireDone } from "./deliveries/wire.ts";
import { json, problem } from "./http/answer.ts";
import type { RouteMatch } from "./http/route.ts";
import { dashboardMessages } from "./log-messages.ts";

/** A requested action. */
type Action = Extract<RouteMatch, { readonly action: string }>;

/** Executes actions, and logs the user. */
export type Act = (viewer: Viewer, action: Action, request: Request) => Promise<Response>;

/** The log lines of actions on one delivery. */
export const doneToOne: Readonly<Record<"release" | "retry" | "discard", string>> = {
  release: dashboardMessages.released,
  retry: dashboardMessages.retried,
  discard: dashboardMessages.discarded,
};

/** The log lines of actions on all deliveries of a reason. */
export const doneToAll: Readonly<Record<"release" | "discard", string>> = {
  release: dashboardMessages.releasedAll,
  discard: dashboardMessages.discardedAll,
};

const statuses: Readonly<Record<string, number>> = {
  not_found: 404,
  not_releasable: 409,
  not_parked: 409,
};

const sideBySide = 50;

/** Creates the actions on a source. */
export function createActions({ inbox }: Source, logger: Logger): Act {
  return async (viewer, asked, request) => {
    // A form of another site can't set this header.
    if (!request.headers.has("x-reporthook")) {
      return problem(403, "cross_site", "An action needs the header X-Reporthook.");
    }
    if (viewer.may !== "act") {
      return problem(403, "view_only", `${viewer.name} may view, but not act.`);
    }
    const { name: by } = viewer;
    const tell = (fields: Readonly<Record<string, unknown>>, message: string): void => {
      logger.info?.({ by, ...fields }, message);
    };
    const answer = (done: number): Response => json(JSON.stringify({ done } satisfies WireDone));
    try {
      if (!("reason" in asked)) {
        const { action, id } = asked;
        await inbox[action](id);
        tell({ id }, doneToOne[action]);
        return answer(1);
      }
      const { action, most } = asked;
      const reason = asked.reason as ReasonCode;
      if (action === "release") {
        const done = await inbox.releaseAll(reason);
        tell({ reason, done }, doneToAll.release);
        return answer(done);
      }
      const told = (done: number): void => tell({ reason, done }, doneToAll.discard);
      return answer(await discardOldest(inbox, reason, most, told));
    } catch (error) {
      const status = statusOf(error);
      if (status === undefined) throw error;
      const { code, message } = error as ReporthookError;
      return problem(status, code, message);
    }
  };
}

/** Discards the oldest deliveries of a reason, at most the requested number; reports the number even if the inbox fails in between. */
async function discardOldest(
  inbox: Source["inbox"],
  reason: ReasonCode,
  most: number,
  tell: (done: number) => void,
): Promise<number> {
  const limit = Math.min(most > 0 ? most : maxDiscarded, maxDiscarded);
  const found = await inbox.list({ state: "parked", reason, limit });
  let done = 0;
  try {
    for (let from = 0; from < found.length; from += sideBySide) {
      const some = found.slice(from, from + sideBySide);
      const settled = await Promise.allSettled(some.map(({ id }) => inbox.discard(id)));
      done += settled.filter(({ status }) => status === "fulfilled").length;
      for (const one of settled) {
        // Another user may have released or discarded it meanwhile: not a failure.
        if (one.status === "rejected" && statusOf(one.reason) === undefined) throw one.reason;
      }
    }
  } finally {
    tell(done);
  }
  return done;
}

/** The status for a refusal of the inbox; undefined if the inbox fails. */
function statusOf(error: unknown): number | undefined {
  return error instanceof ReporthookError ? statuses[error.code] : undefined;
}
