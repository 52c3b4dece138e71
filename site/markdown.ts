/** A heading with what stands under it until the next one. */
export interface Section {
  /** Empty for what stands before the first heading but the title. */
  readonly anchor: string;
  /** 1 for the title. */
  readonly level: number;
  readonly text: string;
}

/** The anchor of a heading, as repositories show it. */
export function anchorOf(heading: string): string {
  const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
  return plain
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

/** A file as its sections, in order; what stands under the title is the first, without the title. */
export function sectionsOf(markdown: string): Section[] {
  const sections: { anchor: string; level: number; text: string }[] = [
    { anchor: "", level: 1, text: "" },
  ];
  for (const { line, isCode } of linesOf(markdown)) {
    const [, marks = "", heading = ""] = (!isCode && /^(#{1,6}) (.*)$/.exec(line)) || [];
    if (marks.length > 1) {
      sections.push({ anchor: anchorOf(heading), level: marks.length, text: "" });
    }
    const last = sections.at(-1);
    if (last !== undefined && marks.length !== 1) last.text += `${line}\n`;
  }
  return sections;
}

/** A link or an image: what is shown, and where it leads. */
export interface Link {
  readonly text: string;
  readonly to: string;
}

/** Replaces links and images, but those to the web, by others or by text; code is left alone. */
export function relink(markdown: string, change: (link: Link) => Link | string): string {
  const changed = (line: string): string =>
    line.replace(codeOrLink, (whole, code?: string, text = "", to = "") => {
      if (code !== undefined || /^[a-z]+:/.test(to)) return whole;
      const link = change({ text, to });
      return typeof link === "string" ? link : `[${link.text}](${link.to})`;
    });
  return [...linesOf(markdown)]
    .map(({ line, isCode }) => (isCode ? line : changed(line)))
    .join("\n");
}

/** Code, which is skipped, or a link, in whose text there may be code. */
const codeOrLink = /(`[^`]*`)|\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)/g;

function* linesOf(markdown: string): Generator<{ line: string; isCode: boolean }> {
  let isCode = false;
  for (const line of markdown.replace(/\n$/, "").split("\n")) {
    const isFence = line.startsWith("```");
    yield { line, isCode: isCode || isFence };
    if (isFence) isCode = !isCode;
  }
}
