// Builds, packs and lints what CI has tested, and publishes each tarball with its provenance. --dry-run does all but that, also offline.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { lint, packAll, repository, run } from "./pack.mjs";

const root = resolve(import.meta.dirname, "..");
const dryRun = process.argv.includes("--dry-run");
const folder = mkdtempSync(join(tmpdir(), "reporthook-"));

/** The obstacles that have to be removed before a release. */
async function obstacles() {
  const found = [];
  const changed = await run("git", ["status", "--porcelain"], { cwd: root });
  if (changed !== "") found.push(`There are changes that are not committed:\n${changed}`);
  const pending = readdirSync(join(root, ".changeset")).filter((name) =>
    /(?<!README)\.md$/.test(name),
  );
  if (pending.length > 0)
    found.push(`Run node scripts/version.mjs first, for ${pending.join(", ")}`);
  if (repository === undefined) {
    found.push("package.json names no repository, which provenance is compared with");
  }
  return found;
}

async function isPublished({ name, version }) {
  if (dryRun) return false;
  const versions = await run("npm", ["view", name, "versions", "--json"]).catch((error) => {
    if (error.message.includes("E404")) return "[]";
    throw error;
  });
  return [JSON.parse(versions)].flat().includes(version);
}

/** The packages in the order of publishing: dependencies first. */
function inOrder(packages) {
  const done = new Set();
  const ordered = [];
  while (ordered.length < packages.length) {
    const next = packages.filter(
      ({ name, needs }) => !done.has(name) && needs.every((other) => done.has(other)),
    );
    for (const one of next) done.add(one.name);
    ordered.push(...next);
  }
  return ordered;
}

try {
  const found = await obstacles();
  for (const obstacle of found) console.error(obstacle);
  if (found.length > 0 && !dryRun) throw new Error("Nothing was published");

  await run("pnpm", ["--recursive", "build"], { cwd: root });
  const packages = inOrder(await packAll(folder));
  await Promise.all(packages.map(lint));
  for (const one of packages) {
    // A release that broke off half way goes on.
    if (await isPublished(one)) continue;
    const options = ["--access", "public", "--provenance", ...(dryRun ? ["--dry-run"] : [])];
    await run("npm", ["publish", one.tarball, ...options], { cwd: folder });
    console.log(`${dryRun ? "would publish" : "published"} ${one.name}@${one.version}`);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
