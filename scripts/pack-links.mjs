// Links of the Markdown in packages: a linked file has another place there than in the repository. The docs are in @reporthook/core.
import { posix } from "node:path";

const link = /!?\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g;

/** The relative links of a text to files, without their anchors. */
export function linksOf(markdown) {
  return [...markdown.matchAll(link)]
    .map(([, , target]) => target.split("#")[0])
    .filter((target) => target !== "" && !/^[a-z]+:/.test(target));
}

/** Whether core carries a file of the repository, and where: `docs/events.md` for `docs/events.md`. */
export function placeInCore(path) {
  if (path === "CHANGELOG.md") return path;
  if (path === "README.md" || path === "SECURITY.md") return `docs/${path}`;
  return /^docs\/[^/]+\.md$/.test(path) ? path : undefined;
}

const nameOf = (folder) => (folder === "cli" ? "reporthook" : `@reporthook/${folder}`);

/** Where a file of the repository is below `node_modules`; undefined when no package carries it. */
function installed(path) {
  const inCore = placeInCore(path);
  if (inCore !== undefined) return posix.join(nameOf("core"), inCore);
  const [, folder, rest] = /^packages\/([^/]+)\/(.+)$/.exec(path) ?? [];
  return folder === undefined ? undefined : posix.join(nameOf(folder), rest);
}

/**
 * A text of the repository as a package carries it, with links that lead somewhere there: `path` is its place in the
 * repository, and `has` tells whether a path below `node_modules` is certainly there. Other links lead to the repository, or
 * become words without its address.
 */
export function packedMarkdown(markdown, path, has, repository) {
  const from = posix.dirname(installed(path));
  return markdown.replace(link, (whole, text, target) => {
    if (linksOf(whole).length === 0) return whole;
    const [file, anchor] = target.split("#");
    const wanted = posix.join(posix.dirname(path), file);
    const to = installed(wanted);
    const linked = (place) =>
      `${whole.slice(0, whole.lastIndexOf("("))}(${place}${anchor === undefined ? "" : `#${anchor}`})`;
    if (to !== undefined && has(to)) return linked(posix.relative(from, to));
    const how = whole.startsWith("!") ? "raw" : "blob";
    if (repository !== undefined) return linked(`${repository}/${how}/main/${wanted}`);
    if (whole.startsWith("!")) return "";
    const place = to === undefined ? `\`${wanted}\` in the repository` : `\`${to}\``;
    return text === wanted ? place : `${text} (${place})`;
  });
}
