// A README in a package: what it links to outside of that is not there, so a link becomes the place in the repository.
import { posix } from "node:path";

const link = /!?\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g;

/** The relative links of a README to files, without their anchors. */
export function linksOf(readme) {
  return [...readme.matchAll(link)]
    .map(([, , target]) => target.split("#")[0])
    .filter((target) => target !== "" && !/^[a-z]+:/.test(target));
}

/** The README of packages/NAME with links to files of the package only; `has` tells which there are. */
export function packedReadme(readme, name, has) {
  return readme.replace(link, (whole, text, target) => {
    const [file] = linksOf(whole);
    if (file === undefined || has(posix.normalize(file))) return whole;
    const path = posix.join("packages", name, target.split("#")[0]);
    if (whole.startsWith("!")) return "";
    // Everybody knows where to look for that.
    if (path === "README.md" && !target.includes("#")) return text;
    return text === path
      ? `\`${path}\` in the repository`
      : `${text} (\`${path}\` in the repository)`;
  });
}
