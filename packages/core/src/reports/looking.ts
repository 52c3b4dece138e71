import { type JsonObject, reportIdIn } from "../events/recognize.ts";
import { checkChoice, checkLimit, checkText, type OfReceiver } from "../inbox/receiver-inbox.ts";
import { type RequestStore, requestStates } from "../inbox/request-store.ts";
import { assertKnownKeys, assertOption } from "../lib/validate.ts";
import { KnownRequests } from "./known-requests.ts";
import type { StoredReports } from "./reports-type.ts";
import { ends, requestRecordOf } from "./request.ts";

const states: readonly string[] = ["overdue", ...requestStates];
const expected = `overdue or one of ${requestStates.join(", ")}`;
const statuses = /* @__PURE__ */ Object.values(ends);

/** Makes the part of reports for which no receiver has to run; `ready` comes before each question, and resolves to the store. */
export function storedReports(
  { inbox, name, time }: OfReceiver,
  requests: KnownRequests = new KnownRequests(inbox, name, time.clock),
  ready: () => Promise<RequestStore> = async () => {
    const { store } = requests;
    await time.join();
    return store;
  },
): StoredReports {
  return {
    get: async (id) => {
      checkText("reports.get: id", id);
      await ready();
      const request = await requests.find(id);
      return request === null ? null : requestRecordOf(request);
    },
    list: async (query = {}) => {
      assertKnownKeys("reports.list", query, ["state", "newestFirst", "limit", "after"]);
      const { state, newestFirst = false, limit = 100, after } = query;
      const isState = state === undefined || states.includes(state);
      assertOption("reports.list: state", expected, state, isState);
      checkChoice("reports.list: newestFirst", newestFirst);
      checkLimit("reports.list", limit);
      if (after !== undefined) checkText("reports.list: after", after);
      const store = await ready();
      const found = await store.list({ receiver: name, state, newestFirst, limit, after });
      return found.map(requestRecordOf);
    },
    counts: async () => (await ready()).counts(name),
    settle: async (id, status, options = {}) => {
      checkText("reports.settle: id", id);
      const isEnd = statuses.includes(status);
      assertOption("reports.settle: status", statuses.join(" or "), status, isEnd);
      assertKnownKeys("reports.settle", options, ["body"]);
      const { body = {} } = options;
      const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
      assertOption("reports.settle: body", "an object", body, isObject);
      const bytes = new TextEncoder().encode(JSON.stringify(body));
      await ready();
      const request = await requests.get(id);
      const type = `report.${status}` as const;
      const isFree = request.state === status && !(await requests.isTaken(request, type));
      if (request.settledAt !== null && !isFree) return false;
      const reportId = request.reportId ?? reportIdIn(body as JsonObject);
      const added = await requests.tell({ ...request, reportId }, type, "settled", bytes);
      // The handle stage may have been first to bring it.
      const delivery = { id: added.id, requestId: id, verification: "settled" } as const;
      const first = await requests.bring(delivery, type, reportId);
      return added.status === "added" && first?.request.brought[type]?.by === added.id;
    },
  };
}
