import type { Act, Logger, ReasonCode, Selection } from "@reporthook/core";
import { states } from "@reporthook/core/store";
import { ifKept, type Source } from "./deliveries/source.ts";
import type { Person, WireDone } from "./deliveries/wire.ts";
import { json, problem } from "./http/answer.ts";
import type { RouteMatch } from "./http/route.ts";
import { dashboardMessages } from "./log-messages.ts";

/** A requested action. */
type Action = Extract<RouteMatch, { readonly action: string }>;

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

/** Creates what executes the actions on a source, and logs the user. */
export function createActions(
  source: Source,
  logger: Logger,
): (viewer: Person, action: Action, request: Request) => Promise<Response> {
  return async ({ name: by, may }, asked, request) => {
    // A form of another site can't set this header.
    if (!request.headers.has("x-reporthook")) {
      return problem(403, "cross_site", "An action needs the header X-Reporthook.");
    }
    if (may !== "act") {
      return problem(403, "view_only", `${by} may view, but not act.`);
    }
    const did = await (asked.action === "settle"
      ? settle(source, asked)
      : actOn(source, asked, by));
    if (typeof did === "string") return problem(400, "unclear", did);
    const { done, message, fields } = did;
    if (done > 0 || asked.id === null) logger.info?.({ by, ...fields }, message);
    return json(JSON.stringify({ done } satisfies WireDone));
  };
}

/** How many were changed, and the log line about it; or what is unclear. */
type Done = { readonly done: number; readonly message: string; readonly fields: object } | string;

async function actOn(
  { inbox }: Source,
  { action, id, query }: Exclude<Action, { readonly action: "settle" }>,
  by: string,
): Promise<Done> {
  const time = query.get("unchangedSince");
  const shown: Selection = {
    state: states.find((one) => one === query.get("state")),
    reason: (query.get("reason") as ReasonCode | null) ?? undefined,
    error: query.get("error") ?? undefined,
    unchangedSince: time === null ? undefined : new Date(time),
  };
  const { reason, error, unchangedSince } = shown;
  const isNoTime = unchangedSince !== undefined && Number.isNaN(unchangedSince.getTime());
  if (isNoTime || (id === null && (reason ?? error) === undefined)) {
    return "Name a reason or an error, and a time that is one as unchangedSince.";
  }
  if (id !== null) {
    // With a time, the delivery as it was shown.
    const which = unchangedSince === undefined ? id : { ...shown, idPrefix: id };
    const done = await inbox[action](which, { by });
    return { done, message: doneToOne[action], fields: { id } };
  }
  const done = await inbox[action](shown, { by });
  const of = error === undefined ? { reason } : { error };
  return { done, message: doneToAll[action as keyof typeof doneToAll], fields: { ...of, done } };
}

/** Tells that a report has come to its end. */
async function settle(
  { reports }: Source,
  { id, query }: Extract<Action, { readonly action: "settle" }>,
): Promise<Done> {
  const status = query.get("status");
  if (status !== "complete" && status !== "internal_error") {
    return "Name the status: complete or internal_error.";
  }
  const done = Number(await ifKept(reports?.settle(id, status), false));
  return { done, message: doneToOne.settle, fields: { id, status } };
}
