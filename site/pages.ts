/** A page of the site: its address, its title, and the Markdown it is made of. */
export interface Page {
  /** Without an ending. */
  readonly to: string;
  readonly title: string;
  readonly from: readonly Source[];
}

/** Markdown of the repository. */
export interface Source {
  readonly file: string;
  /** Only this section of it; empty for what stands before the first one. All of it when left out. */
  readonly anchor?: string | undefined;
  /** The heading of that section on the site; its own when left out. */
  readonly heading?: string | undefined;
}

/** A part of the sidebar. */
export interface Group {
  readonly title: string;
  readonly pages: readonly Page[];
}

/** Sources are written `file`, `file#section` or `file#section as Heading`. */
function page(to: string, title: string, ...sources: readonly string[]): Page {
  const from = sources.map((source) => {
    const [place = "", heading] = source.split(" as ");
    const [file = "", anchor] = place.split("#");
    return { file, anchor, heading };
  });
  return { to, title, from };
}

/** All pages, in the order of the sidebar. Those whose sources are not written yet are left out. */
export const groups: readonly Group[] = [
  {
    title: "Begin",
    pages: [
      page("start", "Start here", "README.md"),
      page("concepts", "Concepts", "ARCHITECTURE.md#the-one-idea", "ARCHITECTURE.md#words"),
      page("choosing", "When to use it", "docs/choosing.md"),
      page("moving-over", "Moving over", "docs/moving-over.md"),
    ],
  },
  {
    title: "In your framework",
    pages: [
      page(
        "frameworks/express",
        "Express",
        "packages/express/README.md",
        "examples/express/app.ts as app.ts",
        "examples/express/server.ts as server.ts",
        "examples/express/app.test.ts as app.test.ts",
      ),
      page(
        "frameworks/koa",
        "Koa",
        "packages/koa/README.md",
        "examples/koa/app.ts as app.ts",
        "examples/koa/server.ts as server.ts",
        "examples/koa/app.test.ts as app.test.ts",
      ),
      page(
        "frameworks/hono",
        "Hono",
        "packages/hono/README.md",
        "examples/hono/app.ts as app.ts",
        "examples/hono/server.ts as server.ts",
        "examples/hono/app.test.ts as app.test.ts",
      ),
      page(
        "frameworks/node",
        "Plain Node and fetch",
        "packages/core/README.md#plain-node",
        "packages/core/README.md#fetch",
      ),
      page("frameworks/fastify", "Fastify", "examples/fastify/app.js"),
      page(
        "frameworks/nextjs",
        "Next.js",
        "docs/nextjs.md",
        "examples/nextjs/receiver.js as receiver.js",
        "examples/nextjs/app/webhooks/reports/route.js as app/webhooks/reports/route.js",
        "examples/nextjs/pages/api/webhooks/reports.js as pages/api/webhooks/reports.js",
      ),
      page("frameworks/lambda", "AWS Lambda", "examples/lambda/handler.js"),
      page(
        "frameworks/cloudflare-workers",
        "Cloudflare Workers",
        "examples/cloudflare-worker/worker.js as worker.js",
        "examples/cloudflare-worker/wrangler.jsonc as wrangler.jsonc",
      ),
      page("frameworks/bun", "Bun.serve", "examples/bun/server.js"),
      page("frameworks/more", "More frameworks, runtimes, serverless", "docs/frameworks.md"),
      page("frameworks/body-parsers", "Body parsers", "docs/body-parsers.md"),
    ],
  },
  {
    title: "Inboxes",
    pages: [
      page("inboxes/which", "Which inbox, and in memory", "docs/inboxes.md"),
      page("inboxes/sqlite", "SQLite", "packages/sqlite/README.md"),
      page("inboxes/sqlite-file", "The file of the SQLite inbox", "packages/sqlite/schema.sql"),
      page("inboxes/bullmq", "BullMQ", "packages/bullmq/README.md"),
    ],
  },
  {
    title: "Receiving",
    pages: [
      page("events", "Events and handlers", "docs/events.md"),
      page("exactly-once", "Effects exactly once", "docs/exactly-once.md"),
      page("options", "Options and responses", "docs/options.md"),
      page("requests", "Requesting reports", "docs/requests.md"),
      page("reports", "Reports, followed to the end", "docs/reports.md"),
      page("callback-urls", "Signed callback URLs", "docs/callback-urls.md"),
    ],
  },
  {
    title: "Testing",
    pages: [
      page("emulator", "The emulator", "packages/emulator/README.md"),
      page("command-line", "Command line", "packages/cli/README.md"),
    ],
  },
  {
    title: "Security",
    pages: [page("security", "Security", "SECURITY.md")],
  },
  {
    title: "Operating",
    pages: [
      page("deliveries", "Deliveries", "docs/deliveries.md"),
      page("deploying", "Deploying", "docs/deploying.md"),
      page("operating", "Operating", "docs/operating.md"),
      page("monitoring", "Monitoring", "docs/monitoring.md", "packages/core/README.md#problems"),
      page("logs", "Log lines", "docs/logs.md"),
      page("nextjs", "Next.js with SQLite", "docs/nextjs.md"),
      page("dashboard", "Dashboard", "packages/dashboard/README.md"),
      page("opentelemetry", "OpenTelemetry", "packages/opentelemetry/README.md"),
      page("scaling", "Scaling", "docs/scaling.md"),
      page("performance", "How fast it is", "bench/report.md"),
    ],
  },
  {
    title: "Inside",
    pages: [
      page("packages", "Packages and entries", "packages/core/README.md#"),
      page(
        "write-your-own",
        "Write your own",
        "docs/write-your-own.md",
        "test/docs/write-your-own/table-inbox.ts as table-inbox.ts",
      ),
      page("test-suites", "Test suites", "packages/testing/README.md"),
      page("architecture", "Architecture", "ARCHITECTURE.md"),
      page("evidence", "Evidence", "docs/evidence.md"),
      page("contributing", "Contributing", "CONTRIBUTING.md"),
      page("changes", "What changed", "CHANGELOG.md"),
      page("licence", "Licence", "LICENSE"),
    ],
  },
];
