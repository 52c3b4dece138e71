import { readdirSync, readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { anchorOf } from "../markdown.ts";

const sidebar = JSON.parse(
  readFileSync(new URL("../generated/sidebar.json", import.meta.url), "utf8"),
);
const reference = readdirSync(new URL("../generated/reference", import.meta.url))
  .map((name) => name.replace(/\.md$/, ""))
  .filter((name) => name !== "index")
  .sort()
  .map((name) => ({ text: `@reporthook/${name.replace("-", "/")}`, link: `/reference/${name}` }));

export default defineConfig({
  title: "reporthook",
  description: "The webhook receiver for the batch-report service",
  lang: "en",
  base: process.env.DOCS_BASE ?? "/",
  srcDir: "generated",
  srcExclude: ["public/**"],
  outDir: "dist",
  cleanUrls: true,
  head: [
    [
      "link",
      { rel: "icon", type: "image/svg+xml", href: `${process.env.DOCS_BASE ?? "/"}mark.svg` },
    ],
  ],
  markdown: {
    // Links lead to the same places in the repository and here.
    anchor: { slugify: anchorOf },
  },
  themeConfig: {
    logo: "/mark.svg",
    outline: { level: [2, 3] },
    search: { provider: "local" },
    nav: [
      { text: "Start here", link: "/start" },
      { text: "Concepts", link: "/concepts" },
      { text: "Operating", link: "/operating" },
      { text: "Reference", link: "/reference/" },
    ],
    sidebar: [...sidebar, { text: "Reference", items: reference }].map((group) => ({
      collapsed: ["Decisions", "Reference"].includes(group.text) || undefined,
      ...group,
    })),
    docFooter: { prev: "Before", next: "Next" },
  },
});
