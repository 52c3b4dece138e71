import type { RequestRecord } from "@reporthook/core";
import { ifNotSearchable } from "@reporthook/core/store";
import { redactEntry, valueText } from "./shown.ts";
import { ifKept, type ShownSource } from "./source.ts";
import { lengthOf, type Views } from "./views.ts";
import { maxBodyLength } from "./wire.ts";

/** The states of the requests in each list. */
const lists = {
  open: ["unconfirmed", "open"],
  overdue: ["overdue"],
  done: ["complete", "internal_error"],
} as const;
const shortLength = 200;
const mostDeliveries = 100;

/** Makes the views of the reports that were asked for. */
export function createReportViews({ inbox, reports }: ShownSource): Pick<Views, "list" | "one"> {
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
        return { entries, more: sorted.length > limit };
      };
    },
    one: (id) => async () => {
      const found = await ifKept(reports?.get(id), null);
      if (found === null) return { report: null, deliveries: null };
      const listed = inbox.list({ requestId: id, limit: mostDeliveries });
      const deliveries = (await listed.catch(ifNotSearchable))?.map(redactEntry) ?? null;
      return { report: reportOf(found, maxBodyLength), deliveries };
    },
  };
}

function reportOf(request: RequestRecord, longest: number): unknown {
  const { report, context, answer } = request;
  const texts = { report: valueText(report, longest), context: valueText(context, longest) };
  return { ...request, ...texts, answer: valueText(answer, longest) };
}
