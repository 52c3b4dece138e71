import { type Logger, ReporthookError } from "@reporthook/core";
import { assertKnownKeys, describe, loggerOf } from "@reporthook/core/store";
import { createActions } from "./actions.ts";
import { createSourceMetrics } from "./deliveries/metrics.ts";
import { createReportViews } from "./deliveries/reports.ts";
import { type ShownSource, type Source, shownSource } from "./deliveries/source.ts";
import { createViewOf, withViewer } from "./deliveries/view-text.ts";
import { createViews } from "./deliveries/views.ts";
import type { Person } from "./deliveries/wire.ts";
import { answer, json, problem } from "./http/answer.ts";
import { fileOf } from "./http/assets.ts";
import { isLocal, isSameOrigin } from "./http/guard.ts";
import { matchRoute } from "./http/route.ts";
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
 * Answers a web standard request to the dashboard; never rejects, and throws a TypeError for another request. Without `authorize`
 * the context must contain the request's address: `{ peer: address }`, or `c.env` of Hono on Node.
 */
export type Dashboard = (request: Request, context?: unknown) => Promise<Response>;

const later = { "Retry-After": "5" };
/** Of the errors that tell what was wrong with a request. */
const statuses: Readonly<Record<string, number>> = {
  not_searchable: 400,
  not_found: 404,
  not_releasable: 409,
  not_parked: 409,
};

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
  const shown = shownSource(source);
  assertKnownKeys("dashboard", options, ["authorize", "logger"]);
  const { authorize, logger: given = console } = options;
  if (authorize !== undefined && typeof authorize !== "function") {
    throw new TypeError("dashboard: authorize must be a function");
  }
  if (given !== false && typeof given?.error !== "function") {
    throw new TypeError("dashboard: logger must be false or an object with error");
  }
  const logger = loggerOf(shown.name, given || {});
  const answerTo = createAnswers(shown, logger);
  const refused = authorize
    ? "You may not view this dashboard."
    : "Without the option authorize, the dashboard answers only this machine, at localhost or 127.0.0.1 and without a proxy.";
  const respond: Dashboard = async (request, context) => {
    try {
      const viewer = await viewerOf(authorize, request, context);
      const response = viewer
        ? await answerTo(request, viewer)
        : problem(403, "forbidden", refused);
      return request.method === "HEAD" ? new Response(null, response) : response;
    } catch (error) {
      return failure(error, logger);
    }
  };
  return (request, context) => {
    checkRequest(request);
    return respond(request, context);
  };
}

/** At once: Express 4 shows what is thrown, and knows nothing of a promise. */
function checkRequest(request: Partial<Request> | null | undefined): void {
  if (typeof request?.headers?.get === "function") return;
  throw new TypeError(
    "A dashboard takes a web standard Request. Write: app.use(path, onNode(dashboard(receiver))) in Express, app.use(mount(path, onKoa(dashboard(receiver)))) in Koa, and page(c.req.raw, c.env) in Hono",
  );
}

/** Answers the requests of people who may view the dashboard. */
function createAnswers(
  source: ShownSource,
  logger: Logger,
): (request: Request, viewer: Person) => Promise<Response> {
  const views = createViews(source);
  const reports = createReportViews(source);
  const isOver = async (): Promise<boolean> => {
    const { ready, inbox } = await source.health();
    return !ready && inbox.ok;
  };
  const viewOf = createViewOf(source, isOver);
  const measure = createSourceMetrics(source);
  const act = createActions(source, logger);
  const live = createLive();

  return async (request, viewer) => {
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
    if (await isOver()) return problem(503, "closing", "The receiver is closing.", later);
    if ("metrics" in asked) {
      const headers = { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" };
      return answer(200, await measure(), headers);
    }
    if ("action" in asked) return act(viewer, asked, request);
    if ("bodyOf" in asked) {
      const text = await views.body(asked.bodyOf);
      if (text === null) return problem(404, "not_found", "The body is not stored.");
      return answer(200, text, { "Content-Type": "text/plain; charset=utf-8" });
    }
    const { view: name, id, query } = asked;
    const { list, one } = name === "reports" ? reports : views;
    const view = viewOf(name === "overview" ? views.overview : id === null ? list(query) : one(id));
    const isLive = request.headers.get("accept") === "text/event-stream";
    // Nobody is there for the body of HEAD, nor once the client is gone: a live answer would never end.
    if (!isLive || request.method === "HEAD" || request.signal.aborted) {
      return json(withViewer(viewer, await view()));
    }
    return live(view, viewer, request);
  };
}

async function viewerOf(
  authorize: Authorize | undefined,
  request: Request,
  context: unknown,
): Promise<Person | null> {
  if (authorize === undefined) {
    return isLocal(request, context) ? { name: "local", may: "act" } : null;
  }
  // JavaScript may return anything.
  const person: unknown = await authorize(request);
  if (!person) return null;
  const { name, may } = person as Partial<Record<keyof Person, unknown>>;
  if (typeof person !== "object" || typeof name !== "string" || name === "") {
    throw new TypeError(
      'dashboard: authorize must return { name: string, may: "view" | "act" }, or null',
    );
  }
  return { name, may: may === "act" ? "act" : "view" };
}

function failure(error: unknown, logger: Logger): Response {
  const isOurs = error instanceof ReporthookError;
  const status = isOurs ? statuses[error.code] : undefined;
  if (isOurs && status !== undefined) return problem(status, error.code, error.message);
  logger.error({ error: describe(error) }, dashboardMessages.failed);
  const detail = isOurs ? error.message : "The request failed. The app's log has the error.";
  return problem(503, isOurs ? error.code : "failed", detail, later);
}
