import {
  type Act,
  type Logger,
  type ReasonCode,
  ReporthookError,
  type Selection,
  type State,
} from "@reporthook/core";
import { states } from "@reporthook/core/store";
import { ifKept, type Source } from "./deliveries/source.ts";
import type { Person, WireDone } from "./deliveries/wire.ts";
import { json, problem } from "./http/answer.ts";
import type { RouteMatch } from "./http/route.ts";
import { dashboardMessages } from "./log-messages.ts";

/** A requested action. */
type Action = Extract<RouteMatch, { readonly action: string }>;

/** Executes actions, and logs the user. */
export type Acting = (viewer: Person, action: Action, request: Request) => Promise<Response>;

/** The log lines of actions on one delivery or report. */
export const doneToOne: Readonly<Record<Act | "settle", string>> = {
  release: dashboardMessages.released,
  retry: dashboardMessages.retried,
  discard: dashboardMessages.discarded,
  settle: dashboardMessages.settled,
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

/** Creates the actions on a source. */
export function createActions(source: Source, logger: Logger): Acting {
  const tell = (fields: Readonly<Record<string, unknown>>, message: string): void => {
    logger.info?.(fields, message);
  };
  return async ({ name: by, may }, asked, request) => {
    // A form of another site can't set this header.
    if (!request.headers.has("x-reporthook")) {
      return problem(403, "cross_site", "An action needs the header X-Reporthook.");
    }
    if (may !== "act") {
      return problem(403, "view_only", `${by} may view, but not act.`);
    }
    try {
      const done = await (asked.action === "settle"
        ? settle(source, by, asked, tell)
        : actOn(source, by, asked, tell));
      return typeof done === "string"
        ? problem(400, "unclear", done)
        : json(JSON.stringify({ done } satisfies WireDone));
    } catch (error) {
      const status = error instanceof ReporthookError ? statuses[error.code] : undefined;
      if (status === undefined) throw error;
      const { code, message } = error as ReporthookError;
      return problem(status, code, message);
    }
  };
}

type Tell = (fields: Readonly<Record<string, unknown>>, message: string) => void;

/** Resolves to how many it changed, or to what is unclear. */
async function actOn(
  { inbox }: Source,
  by: string,
  { action, id, query }: Exclude<Action, { readonly action: "settle" }>,
  tell: Tell,
): Promise<number | string> {
  const shown = shownIn(query);
  if (shown === null || (id === null && (shown.reason ?? shown.error) === undefined)) {
    return "Name a reason or an error, and a time that is one as unchangedSince.";
  }
  const done = await inbox[action](whichOf(id, shown), { by });
  if (id !== null && done > 0) tell({ by, id }, doneToOne[action]);
  if (id === null && action !== "retry") {
    const { reason, error } = shown;
    tell({ by, ...(error === undefined ? { reason } : { error }), done }, doneToAll[action]);
  }
  return done;
}

/** As {@link actOn}, for a report that is told to have come to its end. */
async function settle(
  { reports }: Source,
  by: string,
  { id, query }: Extract<Action, { readonly action: "settle" }>,
  tell: Tell,
): Promise<number | string> {
  const status = query.get("status");
  if (status !== "complete" && status !== "internal_error") {
    return "Name the status: complete or internal_error.";
  }
  const isDone = await ifKept(reports?.settle(id, status), false);
  if (isDone) tell({ by, id, status }, doneToOne.settle);
  return Number(isDone);
}

/** The selection of deliveries as they were shown; null if it can't be read. */
function shownIn(query: URLSearchParams): Selection | null {
  const [state, reason] = [query.get("state"), query.get("reason")];
  const time = query.get("unchangedSince");
  const unchangedSince = time === null ? undefined : new Date(time);
  if (unchangedSince !== undefined && Number.isNaN(unchangedSince.getTime())) return null;
  return {
    state: states.find((one) => one === state) as State | undefined,
    reason: (reason as ReasonCode | null) ?? undefined,
    error: query.get("error") ?? undefined,
    unchangedSince,
  };
}

/** The id alone, or with a time the delivery as it was shown. */
function whichOf(id: string | null, shown: Selection): string | Selection {
  if (id === null) return shown;
  return shown.unchangedSince === undefined ? id : { ...shown, idPrefix: id };
}
