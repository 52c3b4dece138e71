import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, posix } from "node:path";
import { anchorOf, relink, type Section, sectionsOf } from "./markdown.ts";
import { type Group, groups, type Page, type Source } from "./pages.ts";

/** The site before it becomes HTML. */
export interface Site {
  readonly groups: readonly Group[];
  /** The Markdown of each page, by its address. */
  readonly pages: ReadonlyMap<string, string>;
  /** The pictures and examples that pages lead to: files of the repository. */
  readonly files: readonly string[];
  /** All Markdown that went into it. */
  readonly sources: readonly string[];
}

/** The text of a link that only says which file it leads to. */
const isPath = /^([\w-]+\/)*[\w-]+\.md$|^(packages|docs|decisions)\/[\w-]+$/;

/** What is on the site as it is: pictures, and the programs that are examples. */
const isShown = /\.(png|svg)$|^examples\/.*\.(js|ts)$/;

/** Written by a measurement, when there was one: a link to it becomes text where there was none. */
const mayBeMissing = ["bench/report.md"];

/**
 * Makes the pages of the Markdown in the repository, with links from page to page.
 *
 * @throws Error that lists every link that leads nowhere, and every section that is on no page
 */
export function compose(root: string): Site {
  const isThere = (file: string): boolean => existsSync(join(root, file));
  const sections = new Map<string, Section[]>();
  for (const { file } of [...groups, decisions(root)].flatMap(sourcesOf)) {
    if (isThere(file)) sections.set(file, sectionsOf(markdownOf(file)));
  }
  const isWritten = ({ file, anchor }: Source): boolean =>
    sections.get(file)?.some((section) => section.anchor === (anchor ?? "")) ?? false;
  const all = [...groups, decisions(root)].map(({ title, pages }) => ({
    title,
    pages: pages.filter(({ from }) => from.every(isWritten)),
  }));
  const pages = all.flatMap((group) => group.pages);
  const claimed = new Set(
    pages.flatMap(({ from }) => from.map(({ file, anchor }) => `${file}#${anchor}`)),
  );
  const wrong: string[] = [];
  const files = new Set<string>();

  // Where each section is to be read: `file#anchor` to `/page#anchor`.
  const places = new Map<string, string>();
  for (const page of pages) {
    for (const source of page.from) {
      partsOf(source).forEach(({ anchor }, index) => {
        const isTop = anchor === "" || (index === 0 && startsPage(page, source));
        const section = `${source.file}#${anchor}`;
        if (places.has(section)) return;
        const shown = index === 0 && source.heading ? anchorOf(source.heading) : anchor;
        places.set(section, `/${page.to}${isTop ? "" : `#${shown}`}`);
      });
    }
  }
  for (const [file, list] of sections) {
    for (const { anchor } of list) {
      if (places.has(`${file}#${anchor}`)) continue;
      if (anchor !== "") wrong.push(`${file}: the section #${anchor} is on no page`);
    }
  }

  /** What is no Markdown is shown as it is. */
  function markdownOf(file: string): string {
    const text = readFileSync(join(root, file), "utf8");
    return file.endsWith(".md") ? text : `\`\`\`${extname(file).slice(1)}\n${text}\`\`\`\n`;
  }

  /** The sections of a source; those nested in it that have a page of their own are left out. */
  function partsOf({ file, anchor: wanted }: Source): Section[] {
    const list = sections.get(file) ?? [];
    if (wanted === undefined) return list;
    const first = list.findIndex(({ anchor }) => anchor === wanted);
    const begin = list[first];
    if (begin === undefined) return [];
    if (wanted === "") return [begin];
    const end = list.findIndex(({ level }, index) => index > first && level <= begin.level);
    const nested = list.slice(first + 1, end === -1 ? undefined : end);
    return [begin, ...nested.filter(({ anchor }) => !claimed.has(`${file}#${anchor}`))];
  }

  function render(page: Page): string {
    const texts = page.from.flatMap((source) =>
      partsOf(source).map(({ text }, index) => {
        const heading = index === 0 ? headingOf(page, source) : undefined;
        const body = heading === undefined ? text : text.replace(/^(#+ .*\n)?/, heading);
        return relink(body, ({ text, to }) => {
          const led = place(source.file, to);
          if (led === null) return text;
          return { text: isPath.test(text) ? titleOf(led) : text, to: led };
        });
      }),
    );
    return `# ${page.title}\n\n${texts.join("\n\n").trim()}\n`;
  }

  function place(from: string, to: string): string | null {
    const [path = "", anchor = ""] = to.split("#");
    const file = path === "" ? from : posix.join(posix.dirname(from), path);
    const found = places.get(`${file}#${anchor}`) ?? (anchor === "" ? firstOf(file) : undefined);
    if (found !== undefined) return found;
    if (!isThere(file) || !isShown.test(file)) {
      if (!mayBeMissing.includes(file)) wrong.push(`${from}: ${to} leads nowhere`);
      return null;
    }
    files.add(file);
    return `/files/${file}`;
  }

  function titleOf(place: string): string {
    return pages.find(({ to }) => place === `/${to}`)?.title ?? place;
  }

  /** A file that only gives sections begins where its first one is. */
  function firstOf(file: string): string | undefined {
    return [...places].find(([source]) => source.startsWith(`${file}#`))?.[1];
  }

  const rendered = new Map(pages.map((page) => [page.to, render(page)]));
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  return { groups: all, pages: rendered, files: [...files], sources: [...sections.keys()] };
}

/** A section that a page begins with goes under the page's title, without its own. */
function startsPage(page: Page, source: Source): boolean {
  return page.from[0] === source && source.anchor !== "";
}

/** What stands instead of a source's own heading, where that is not to stay. */
function headingOf(page: Page, source: Source): string | undefined {
  const isTitled = startsPage(page, source);
  const isNamed = source.heading !== undefined && (!isTitled || source.anchor === undefined);
  if (isNamed) return `## ${source.heading}\n\n`;
  return isTitled ? "" : undefined;
}

function sourcesOf({ pages }: Group): Source[] {
  return pages.flatMap(({ from }) => from);
}

function decisions(root: string): Group {
  const pages = readdirSync(join(root, "decisions"))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => {
      const [, title = name] =
        /^# (.*)$/m.exec(readFileSync(join(root, "decisions", name), "utf8")) ?? [];
      return {
        to: `decisions/${name.replace(/\.md$/, "")}`,
        title,
        from: [{ file: `decisions/${name}` }],
      };
    });
  return { title: "Decisions", pages };
}
