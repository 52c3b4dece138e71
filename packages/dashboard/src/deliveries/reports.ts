import { ReporthookError, type RequestRecord } from "@reporthook/core";
import type { View } from "./shared-views.ts";
import { redactEntry, valueText } from "./shown.ts";
import { ifKept, type Source } from "./source.ts";
import type { TellView } from "./telling.ts";
import { lengthOf } from "./views.ts";
import { maxBodyLength } from "./wire.ts";

/** The states of the requests in each list. */
const lists = {
  open: ["unconfirmed", "open"],
  overdue: ["overdue"],
  done: ["complete", "internal_error"],
} as const;
const shortLength = 200;
const mostDeliveries = 100;

/** The views of the reports that were asked for. */
export interface ReportViews {
  list(query: URLSearchParams): View;
  one(id: string): View;
}

/** Makes the views of a source's reports. */
export function createReportViews({ inbox, reports }: Source, tell: TellView): ReportViews {
  return {
    list(query) {
      const limit = lengthOf(query);
      const after = query.get("after") ?? undefined;
      const asked = query.get("of") ?? "";
      const states = lists[Object.hasOwn(lists, asked) ? (asked as keyof typeof lists) : "open"];
      return async () => {
        const found = await Promise.all(
          states.map((state) => {
            const newest = { state, newestFirst: true, limit: limit + 1, after };
            return ifKept(reports?.list(newest), []);
          }),
        );
        const sorted = found.flat().sort((one, other) => (one.id < other.id ? 1 : -1));
        const entries = sorted.slice(0, limit).map((one) => reportOf(one, shortLength));
        return tell({ entries, more: sorted.length > limit });
      };
    },
    one: (id) => async () => {
      const found = await ifKept(reports?.get(id), null);
      if (found === null) return tell({ report: null, deliveries: null });
      const listed = inbox.list({ requestId: id, limit: mostDeliveries }).catch(ifNotSearchable);
      const deliveries = (await listed)?.map(redactEntry) ?? null;
      return tell({ report: reportOf(found, maxBodyLength), deliveries });
    },
  };
}

function ifNotSearchable(error: unknown): null {
  if (error instanceof ReporthookError && error.code === "not_searchable") return null;
  throw error;
}

function reportOf(request: RequestRecord, longest: number): unknown {
  const { report, context, answer } = request;
  const texts = { report: valueText(report, longest), context: valueText(context, longest) };
  return { ...request, ...texts, answer: valueText(answer, longest) };
}
