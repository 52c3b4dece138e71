// Records a run of `pnpm start --exit` as an animated SVG, at a pace that can be read:
// node --conditions=@reporthook/source --import tsx scripts/recording.ts
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const loopS = 20;
const stepS = 1.7;
const lineHeight = 20;
const colours: Readonly<Record<string, string>> = { 2: "#8b949e", 31: "#ff7b72", 32: "#3fb950" };
const title =
  "pnpm start --exit: a test and each status of a report are acknowledged, verified and handled; a forged notification is rejected";

/** The output of the tour on a new inbox. */
function run(): string {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-recording-"));
  const node = ["--conditions=@reporthook/source", "--import", "tsx"];
  const tour = ["scripts/tour/main.ts", "--exit", "--db", join(folder, "inbox.db")];
  try {
    const env = { ...process.env, FORCE_COLOR: "1" };
    const args = [...node, ...tour];
    const printed = execFileSync(process.execPath, args, { cwd: root, env, encoding: "utf8" });
    return printed.trimEnd().replaceAll(folder, ".tour");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A line with its colours, which a terminal takes from escape sequences. */
function coloured(line: string): string {
  const [first = "", ...parts] = line
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .split("\u001b[");
  const spans = parts.map((part) => {
    const [code = "", text = ""] = part.split(/m(.*)/s);
    return `<tspan fill="${colours[code] ?? "#e6edf3"}">${text}</tspan>`;
  });
  return first + spans.join("");
}

let steps = 0;
const styles: string[] = [];
const rows = `$ npx --yes pnpm@10 start --exit\n${run()}`.split("\n").map((line, index) => {
  // An indented line, and an empty one, comes with the step before it.
  if (/^\S/.test(line)) steps += 1;
  const percent = ((0.5 + (steps - 1) * stepS) / loopS) * 100;
  styles.push(`@keyframes l${index}{0%{opacity:0}${percent.toFixed(1)}%{opacity:1}}`);
  const y = 56 + index * lineHeight;
  return `<text x="20" y="${y}" style="animation-name:l${index}">${coloured(line)}</text>`;
});
const dots = [24, 42, 60].map((x) => `<circle cx="${x}" cy="20" r="5" fill="#484f58"/>`);
const css = `text{white-space:pre;animation:${loopS}s step-end infinite}@media(prefers-reduced-motion:reduce){text{animation:none}}`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 ${56 + rows.length * lineHeight}" role="img" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13" fill="#e6edf3" xml:space="preserve"><title>${title}</title><style>${css}${styles.join("")}</style><rect width="100%" height="100%" rx="8" fill="#0d1117"/>${dots.join("")}${rows.join("")}</svg>\n`;
writeFileSync(join(root, "packages/dashboard/pictures/tour.svg"), svg);
