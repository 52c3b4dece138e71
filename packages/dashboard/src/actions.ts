import type { Logger, Selection } from "@reporthook/core";
import { reasonCodes, states } from "@reporthook/core/store";
import { ifKept, type ShownSource } from "./deliveries/source.ts";
import type { Person } from "./deliveries/wire.ts";
import { json, problem } from "./http/answer.ts";
import type { RouteMatch } from "./http/route.ts";
import { dashboardMessages } from "./log-messages.ts";

/** A requested action. */
type Action = Extract<RouteMatch, { readonly action: string }>;

/** Creates what executes the actions on a source, and logs the user. */
export function createActions(
  source: ShownSource,
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
    const did = await perform(source, asked, by);
    if (typeof did === "string") return problem(400, "unclear", did);
    const { done, fields } = did;
    const { id, action } = asked;
    const name = id === null ? (`${action}All` as "releaseAll" | "discardAll") : action;
    const message = dashboardMessages[name];
    if (done > 0 || id === null) logger.info?.({ by, ...fields }, message);
    return json(JSON.stringify({ done }));
  };
}

/** Resolves to how many were changed, with the fields of the log line about it; or to what is unclear. */
async function perform(
  { inbox, reports }: ShownSource,
  { action, id, query }: Action,
  by: string,
): Promise<{ readonly done: number; readonly fields: object } | string> {
  if (action === "settle") {
    const status = query.get("status");
    if (status !== "complete" && status !== "internal_error") {
      return "Name the status: complete or internal_error.";
    }
    const isDone = await ifKept(reports?.settle(id, status), false);
    return { done: Number(isDone), fields: { id, status } };
  }
  const time = query.get("unchangedSince");
  const shown: Selection = {
    state: states.find((one) => one === query.get("state")),
    reason: reasonCodes.find((one) => one === query.get("reason")),
    error: query.get("error") || undefined,
    unchangedSince: time === null ? undefined : new Date(time),
  };
  const { reason, error, unchangedSince } = shown;
  const isNoTime = unchangedSince !== undefined && Number.isNaN(unchangedSince.getTime());
  const isNoReason = reason === undefined && Boolean(query.get("reason"));
  if (isNoTime || isNoReason || (id === null && (reason ?? error) === undefined)) {
    return "Name a reason that there is, or an error, and a time that is one as unchangedSince.";
  }
  if (id === null) {
    const done = await inbox[action](shown, { by });
    return { done, fields: { ...(error === undefined ? { reason } : { error }), done } };
  }
  if (unchangedSince === undefined)
    return { done: await inbox[action](id, { by }), fields: { id } };
  // The delivery as it was shown, and no others whose ids begin like this.
  const isThere = (await inbox.get(id)) !== null;
  const done = isThere ? await inbox[action]({ ...shown, idPrefix: id }, { by }) : 0;
  return { done, fields: { id } };
}
