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

/** Replaces what links and images lead to; code is left alone. */
export function relink(markdown: string, target: (to: string) => string): string {
  const led = (text: string): string =>
    text.replace(/\]\(([^)\s]+)\)/g, (whole, to: string) =>
      /^[a-z]+:/.test(to) ? whole : `](${target(to)})`,
    );
  return [...linesOf(markdown)]
    .map(({ line, isCode }) => {
      if (isCode) return line;
      return line.replace(/(`[^`]*`)|[^`]+/g, (part, code) =>
        code === undefined ? led(part) : part,
      );
    })
    .join("\n");
}

function* linesOf(markdown: string): Generator<{ line: string; isCode: boolean }> {
  let isCode = false;
  for (const line of markdown.replace(/\n$/, "").split("\n")) {
    const isFence = line.startsWith("```");
    yield { line, isCode: isCode || isFence };
    if (isFence) isCode = !isCode;
  }
}
