import { type ReasonCode, ReporthookError } from "@reporthook/core";
import type { Source } from "./deliveries/source.ts";
import type { Viewer, WireDone } from "./deliveries/wire.ts";
import { json, problem } from "./http/answer.ts";
import type { Asked } from "./http/route.ts";
import type { DashboardLogger } from "./logger.ts";

/** What a person asks to be done. */
type Action = Extract<Asked, { readonly action: string }>;

/** Does what a person asks for, and logs who it was. */
export type Act = (viewer: Viewer, action: Action, request: Request) => Promise<Response>;

/** Makes the actions on a source. */
export function createActions({ inbox }: Source, logger: DashboardLogger | false): Act {
  return async (viewer, asked, request) => {
    // A form of another site can't set it.
    if (!request.headers.has("x-reporthook")) {
      return problem(403, "cross_site", "An action needs the header X-Reporthook.");
    }
    if (viewer.may !== "act") {
      return problem(403, "view_only", `${viewer.name} may look, and not act.`);
    }
    const { name: by } = viewer;
    try {
      if ("reason" in asked) {
        const { reason } = asked;
        const done = await inbox.releaseAll(reason as ReasonCode);
        if (logger) {
          logger.info?.({ by, reason, done }, "All deliveries parked for a reason were released.");
        }
        return json(JSON.stringify({ done } satisfies WireDone));
      }
      const { action, id } = asked;
      await inbox[action](id);
      if (logger && action === "release") logger.info?.({ by, id }, "A delivery was released.");
      if (logger && action === "retry") logger.info?.({ by, id }, "A delivery is tried at once.");
      return json(JSON.stringify({ done: 1 } satisfies WireDone));
    } catch (error) {
      const code = error instanceof ReporthookError ? error.code : null;
      if (code !== "not_found" && code !== "not_releasable") throw error;
      const { message } = error as ReporthookError;
      return problem(code === "not_found" ? 404 : 409, code, message);
    }
  };
}
