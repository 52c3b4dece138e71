import {
  type Act,
  type Logger,
  type ReasonCode,
  ReporthookError,
  type Selection,
  type State,
} from "@reporthook/core";
import { states } from "@reporthook/core/store";
import type { Source } from "./deliveries/source.ts";
import type { Person, WireDone } from "./deliveries/wire.ts";
import { json, problem } from "./http/answer.ts";
import type { RouteMatch } from "./http/route.ts";
import { dashboardMessages } from "./log-messages.ts";

/** A requested action. */
type Action = Extract<RouteMatch, { readonly action: string }>;

/** Executes actions, and logs the user. */
export type Acting = (viewer: Person, action: Action, request: Request) => Promise<Response>;

/** The log lines of actions on one delivery. */
export const doneToOne: Readonly<Record<Act, string>> = {
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

/** Creates the actions on a source. */
export function createActions({ inbox }: Source, logger: Logger): Acting {
  return async ({ name: by, may }, { action, id, query }, request) => {
    // A form of another site can't set this header.
    if (!request.headers.has("x-reporthook")) {
      return problem(403, "cross_site", "An action needs the header X-Reporthook.");
    }
    if (may !== "act") {
      return problem(403, "view_only", `${by} may view, but not act.`);
    }
    const shown = shownIn(query);
    if (shown === null || (id === null && (shown.reason ?? shown.error) === undefined)) {
      const message = "Name a reason or an error, and a time that is one as unchangedSince.";
      return problem(400, "unclear", message);
    }
    const tell = (fields: Readonly<Record<string, unknown>>, message: string): void => {
      logger.info?.(fields, message);
    };
    try {
      const which = whichOf(id, shown);
      const done = await inbox[action](which, { by });
      if (id !== null && done > 0) tell({ by, id }, doneToOne[action]);
      if (id === null && action !== "retry") {
        const { reason, error } = shown;
        tell({ by, ...(error === undefined ? { reason } : { error }), done }, doneToAll[action]);
      }
      return json(JSON.stringify({ done } satisfies WireDone));
    } catch (error) {
      const status = error instanceof ReporthookError ? statuses[error.code] : undefined;
      if (status === undefined) throw error;
      const { code, message } = error as ReporthookError;
      return problem(status, code, message);
    }
  };
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
