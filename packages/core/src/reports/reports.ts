import { type JsonObject, reportIdIn } from "../events/recognize.ts";
import type { ReceiverView } from "../inbox/receiver-inbox.ts";
import { type RequestStore, requestStates } from "../inbox/request-store.ts";
import {
  assertBoolean,
  assertKnownKeys,
  assertLimit,
  assertMs,
  assertOption,
  assertSignal,
  assertText,
  isPlain,
  jsonText,
} from "../lib/validate.ts";
import { KnownRequests } from "./known-requests.ts";
import type { StoredReports } from "./reports-type.ts";
import { ends, requestRecordOf } from "./request.ts";

const states: readonly string[] = ["overdue", ...requestStates];
const expected = `overdue or one of ${requestStates.join(", ")}`;
const statuses = /* @__PURE__ */ Object.values(ends);

/** Makes the part of reports for which no receiver has to run. */
export function storedReports(tool: ReceiverView): StoredReports {
  return reportsIn(tool, new KnownRequests(tool));
}

/** The same for a receiver, with its known requests. */
export function reportsIn(receiver: ReceiverView, requests: KnownRequests): StoredReports {
  const ready = async (): Promise<RequestStore> => {
    const store = await requests.ready();
    await receiver.prune();
    return store;
  };
  return {
    get: async (id) => {
      assertText("reports.get: id", id);
      await ready();
      const request = await requests.find(id);
      return request === null ? null : requestRecordOf(request);
    },
    list: async (query = {}) => {
      assertKnownKeys("reports.list", query, ["state", "newestFirst", "limit", "after"]);
      const { state, newestFirst = false, limit = 100, after } = query;
      const isState = state === undefined || states.includes(state);
      assertOption("reports.list: state", expected, state, isState);
      assertBoolean("reports.list: newestFirst", newestFirst);
      assertLimit("reports.list", limit);
      if (after !== undefined) assertText("reports.list: after", after);
      const store = await ready();
      const found = await store.list({ receiver: receiver.name, state, newestFirst, limit, after });
      return found.map(requestRecordOf);
    },
    counts: async () => (await ready()).counts(receiver.name),
    wait: async (id, options = {}) => {
      assertText("reports.wait: id", id);
      assertKnownKeys("reports.wait", options, ["timeoutMs", "signal"]);
      const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
      assertMs("reports.wait: timeoutMs", timeoutMs);
      assertSignal("reports.wait: signal", signal);
      await ready();
      return requestRecordOf(await requests.settled(id, timeoutMs, signal));
    },
    settle: async (id, status, options = {}) => {
      assertText("reports.settle: id", id);
      const isEnd = statuses.includes(status);
      assertOption("reports.settle: status", statuses.join(" or "), status, isEnd);
      assertKnownKeys("reports.settle", options, ["body"]);
      const { body = {} } = options;
      const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
      assertOption("reports.settle: body", "a plain object", body, isObject && isPlain(body));
      const bytes = new TextEncoder().encode(jsonText("reports.settle: body", body));
      await ready();
      const request = await requests.get(id);
      const type = `report.${status}` as const;
      const verification = "settled";
      const whyNot = await requests.whyNot(request, type, { id: "", verification });
      if (whyNot !== null) return false;
      const reportId = request.reportId ?? reportIdIn(body as JsonObject);
      const added = await requests.addEvent({ ...request, reportId }, type, verification, bytes);
      // The handle stage may have been first to bring it.
      const first = await requests.bring({ ...added, request, verification }, type, reportId);
      return added.status === "added" && first?.request.brought[type]?.by === added.id;
    },
  };
}
