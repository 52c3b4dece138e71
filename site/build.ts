// The documentation as a site, of the Markdown in the repository: `pnpm --dir site build` into site/dist, `pnpm --dir site dev`
// to look at while it is written. site/ is a separate workspace, installed when it is needed.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, rmSync, watch, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { compose } from "./compose.ts";
import { llmsText } from "./llms.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const site = join(root, "site");
const generated = join(site, "generated");

function pnpm(...args: readonly string[]): Promise<void> {
  const child = spawn("pnpm", args, { cwd: site, stdio: "inherit" });
  return new Promise((done, fail) => {
    child.on("error", fail).on("exit", (code) => {
      if (code === 0) done();
      else fail(new Error(`pnpm ${args.join(" ")} ended with ${code}`));
    });
  });
}

function writePages(): readonly string[] {
  const { pages, groups, files, sources } = compose(root);
  for (const [page, text] of pages) {
    write(`${page}.md`, text);
    // Served as it is, beside the HTML.
    write(`public/${page}.md`, text);
  }
  write("public/llms.txt", llmsText({ pages, groups }));
  for (const file of files) copy(file, `public/files/${file}`);
  copy("site/home.md", "index.md");
  copy("packages/dashboard/page/mark.svg", "public/mark.svg");
  const sidebar = groups.map(({ title, pages }) => ({
    text: title,
    items: pages.map(({ to, title }) => ({ text: title, link: `/${to}` })),
  }));
  write("sidebar.json", JSON.stringify(sidebar));
  return ["site/home.md", ...sources];
}

function write(name: string, text: string): void {
  const file = join(generated, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function copy(from: string, to: string): void {
  cpSync(join(root, from), join(generated, to));
}

const [task] = process.argv.slice(2);
if (task !== "build" && task !== "dev") throw new Error("build.ts build, or build.ts dev");

rmSync(generated, { recursive: true, force: true });
const sources = writePages();
await pnpm("install", "--frozen-lockfile", "--prefer-offline");
await pnpm("exec", "typedoc");
if (task === "dev") {
  for (const file of sources) {
    watch(resolve(root, file), () => {
      try {
        writePages();
      } catch (error) {
        console.error((error as Error).message);
      }
    });
  }
}
await pnpm("exec", "vitepress", task);
