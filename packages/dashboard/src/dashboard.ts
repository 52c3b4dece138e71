import { type Logger, ReporthookError } from "@reporthook/core";
import { assertKnownKeys, describe, loggerOf } from "@reporthook/core/store";
import { createActions } from "./actions.ts";
import { createSourceMetrics } from "./deliveries/metrics.ts";
import { createReportViews, type ReportViews } from "./deliveries/reports.ts";
import type { View } from "./deliveries/shared-views.ts";
import { checkSource, type Source } from "./deliveries/source.ts";
import { createTell, withViewer } from "./deliveries/telling.ts";
import { createViews, type Views } from "./deliveries/views.ts";
import type { Person } from "./deliveries/wire.ts";
import { answer, json, problem } from "./http/answer.ts";
import { fileOf } from "./http/assets.ts";
import { isLocal, isSameOrigin } from "./http/guard.ts";
import { matchRoute, type RouteMatch } from "./http/route.ts";
import { createLive } from "./live.ts";
import { dashboardMessages } from "./log-messages.ts";

/** Identifies the user, by session or header; null if they may not view the dashboard. */
export type Authorize = (request: Request) => Person | null | Promise<Person | null>;

/** Options of {@link dashboard}. */
export interface DashboardOptions {
  /** Default: only this machine may view the dashboard, and may act. */
  readonly authorize?: Authorize | undefined;
  /** Gets actions with their users, if it has `info`, and errors. Default: the console; `false` silences it. */
  readonly logger?: Pick<Logger, "info" | "error"> | false | undefined;
}

/**
 * Answers a web standard request to the dashboard; never rejects. Without `authorize` the context must contain the request's
 * address: `{ peer: address }`, or `c.env` of Hono on Node.
 */
export type Dashboard = (request: Request, context?: unknown) => Promise<Response>;

type Shown = Extract<
  RouteMatch,
  { readonly overview: true } | { readonly listOf: string } | { readonly oneOf: string }
>;

const onlyHere: Person = { name: "local", may: "act" };

/**
 * Creates a page that shows all deliveries, and releases, retries and discards them. Mount it under any path.
 *
 * @throws TypeError that names a wrong option, or if the source is neither a receiver nor an inbox
 * @example
 * const app = new Hono();
 * const page = dashboard(receiver, { authorize: (request) => personOf(request.headers.get("cookie")) });
 * app.all("/inbox/*", (c) => page(c.req.raw, c.env));
 */
export function dashboard(source: Source, options: DashboardOptions = {}): Dashboard {
  checkSource(source);
  assertKnownKeys("dashboard", options, ["authorize", "logger"]);
  const { authorize, logger = console } = options;
  if (authorize !== undefined && typeof authorize !== "function") {
    throw new TypeError("dashboard: authorize must be a function");
  }
  const lines = loggerOf(source.name ?? "reports", logger || {});
  const answering = new Answering(source, authorize, lines);
  return (request, context) => answering.answer(request, context);
}

/** Answers the requests to one dashboard. */
class Answering {
  readonly #source: Source;
  readonly #authorize: Authorize | undefined;
  readonly #logger: Logger;
  readonly #views: { readonly deliveries: Views; readonly reports: ReportViews };
  readonly #measure: ReturnType<typeof createSourceMetrics>;
  readonly #act: ReturnType<typeof createActions>;
  readonly #live: ReturnType<typeof createLive>;

  constructor(source: Source, authorize: Authorize | undefined, logger: Logger) {
    this.#source = source;
    this.#authorize = authorize;
    this.#logger = logger;
    const tell = createTell(source);
    const deliveries = createViews(source, tell);
    this.#views = { deliveries, reports: createReportViews(source, tell) };
    this.#measure = createSourceMetrics(source);
    this.#act = createActions(source, logger);
    this.#live = createLive(() => this.#isOver());
  }

  async answer(request: Request, context: unknown): Promise<Response> {
    try {
      const response = await this.#respond(request, context);
      return request.method === "HEAD" ? new Response(null, response) : response;
    } catch (error) {
      const isOurs = error instanceof ReporthookError;
      if (isOurs && error.code === "not_searchable") {
        return problem(400, error.code, error.message);
      }
      const logger = this.#logger;
      logger.error({ error: describe(error) }, dashboardMessages.failed);
      const detail = isOurs ? error.message : "The request failed. The app's log has the error.";
      return problem(503, isOurs ? error.code : "failed", detail, { "Retry-After": "5" });
    }
  }

  async #respond(request: Request, context: unknown): Promise<Response> {
    const viewer = await this.#viewerOf(request, context);
    if (viewer === null) return forbidden(this.#authorize === undefined);
    const asked = matchRoute(request);
    if (asked === null) return problem(404, "not_found", "Page not found.");
    if ("moved" in asked) return answer(308, null, { Location: asked.moved });
    const method = request.method === "HEAD" ? "GET" : request.method;
    const allowed = "action" in asked ? "POST" : "GET";
    if (method !== allowed) {
      const detail = `This address accepts ${allowed} only.`;
      return problem(405, "method_not_allowed", detail, { Allow: allowed });
    }
    if ("file" in asked) {
      const file = await fileOf(request, asked.file);
      return file ?? problem(404, "not_found", "File not found.");
    }
    if (!isSameOrigin(request)) {
      return problem(403, "cross_site", "Only the dashboard's page may request this.");
    }
    // A query would open a closed inbox again.
    if (await this.#isOver()) {
      return problem(503, "closing", "The receiver is closing.", { "Retry-After": "5" });
    }
    if ("metrics" in asked) {
      const { text, contentType } = await this.#measure();
      return answer(200, text, { "Content-Type": contentType });
    }
    if ("action" in asked) return this.#act(viewer, asked, request);
    if ("bodyOf" in asked) return this.#bodyOf(asked.bodyOf);
    return this.#show(request, viewer, asked);
  }

  async #viewerOf(request: Request, context: unknown): Promise<Person | null> {
    if (this.#authorize === undefined) return isLocal(request, context) ? onlyHere : null;
    // JavaScript may return anything.
    const person: unknown = await this.#authorize(request);
    if (!person) return null;
    const { name, may } = person as Partial<Record<keyof Person, unknown>>;
    if (typeof person !== "object" || typeof name !== "string" || name === "") {
      throw new TypeError(
        'dashboard: authorize must return { name: string, may: "view" | "act" }, or null',
      );
    }
    return { name, may: may === "act" ? "act" : "view" };
  }

  async #isOver(): Promise<boolean> {
    const { ready, inbox } = await this.#source.health();
    return !ready && inbox.ok;
  }

  async #show(request: Request, viewer: Person, asked: Shown): Promise<Response> {
    const [key, view] = this.#viewOf(asked);
    const isLive = request.headers.get("accept") === "text/event-stream";
    // HEAD has no body; a live answer would never end.
    if (!isLive || request.method === "HEAD") return json(withViewer(viewer, await view()));
    const tooMany = (): Response =>
      problem(503, "too_many_viewers", "Too many pages are open.", { "Retry-After": "10" });
    return this.#live(key, view, viewer, request) ?? tooMany();
  }

  /** The view that is asked for, and the key by which several pages share it. */
  #viewOf(asked: Shown): readonly [key: string, View] {
    if ("overview" in asked) return ["overview", this.#views.deliveries.overview];
    if ("oneOf" in asked) {
      const { oneOf, id } = asked;
      return [`${oneOf} ${id}`, this.#views[oneOf].one(id)];
    }
    const { listOf, query } = asked;
    return [`${listOf}?${query}`, this.#views[listOf].list(query)];
  }

  async #bodyOf(id: string): Promise<Response> {
    const text = await this.#views.deliveries.body(id);
    if (text === null) return problem(404, "not_found", "The body is not stored.");
    return answer(200, text, { "Content-Type": "text/plain; charset=utf-8" });
  }
}

function forbidden(isLocalOnly: boolean): Response {
  const detail = isLocalOnly
    ? "Without the option authorize, the dashboard answers only this machine, at localhost or 127.0.0.1 and without a proxy."
    : "You may not view this dashboard.";
  return problem(403, "forbidden", detail);
}
