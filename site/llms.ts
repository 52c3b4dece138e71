import type { Site } from "./compose.ts";

/** The site's index for language models (llmstxt.org): a link to the Markdown of every page. */
export function llmsText({ groups, pages }: Pick<Site, "groups" | "pages">): string {
  const parts = groups.map(({ title, pages: listed }) => {
    const links = listed
      .filter(({ to }) => pages.has(to))
      .map(({ to, title: name }) => `- [${name}](/${to}.md)`);
    return `## ${title}\n\n${links.join("\n")}\n`;
  });
  const summary =
    "Webhook receiver for the batch-report service, for Express, Koa, Hono, Node and fetch servers";
  return `# reporthook\n\n> ${summary}\n\n${parts.join("\n")}`;
}
