// The text of `pack:all`: how a project installs the tarballs.

/** A path as a shell takes it. */
const quoted = (path) => (/^[\w./@+-]+$/.test(path) ? path : `"${path}"`);

/** The command that installs some packages: their tarballs, and those of the packages of ours that they need. */
function installLine(packages, names) {
  const wanted = new Set(names);
  // A loop over a set visits what is added meanwhile, too.
  for (const wish of wanted) {
    for (const other of packages.find(({ name }) => name === wish).needs) wanted.add(other);
  }
  const tarballs = packages
    .filter(({ name }) => wanted.has(name))
    .map((one) => quoted(one.tarball));
  return `npm install ${tarballs.join(" \\\n    ")}`;
}

/** The field of a package.json by which pnpm and Yarn find the tarballs. */
function placesOf(packages) {
  const places = packages.map(({ name, tarball }) => [name, `file:${tarball}`]);
  const json = JSON.stringify({ resolutions: Object.fromEntries(places) }, null, 2);
  return json.slice(1, -1).trim();
}

/** The text for tarballs in a folder: where Node has no `node:sqlite`, an inbox in a file needs libsql beside it. */
export function installAdvice(packages, folder, hasSqlite) {
  const app = ["@reporthook/core", "@reporthook/sqlite", "@reporthook/express"];
  return `
${packages.length} tarballs are in ${folder}. Install in your project what you use, for instance for Express
with an inbox in a file:

  ${installLine(packages, app)} express${hasSqlite ? "" : " libsql"}

the command line, npx reporthook:

  ${installLine(packages, ["reporthook"])}

and what tests need:

  ${installLine(packages, ["@reporthook/emulator"]).replace("install", "install --save-dev")} supertest

pnpm and Yarn ask npm for what these need of each other, unless the package.json at your project's root says:

  ${placesOf(packages)}
`;
}
