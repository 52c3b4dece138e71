// The text of `pack:all`: how a project installs the tarballs.

/** A path as a shell takes it. */
const quoted = (path) => (/^[\w./@+-]+$/.test(path) ? path : `"${path}"`);

/** The command that installs some packages: their tarballs, and those of the packages of ours that they need. */
function installLine(packages, names) {
  const wanted = new Set();
  const want = (name) => {
    if (wanted.has(name)) return;
    wanted.add(name);
    for (const other of packages.find((one) => one.name === name).needs) want(other);
  };
  for (const name of names) want(name);
  const tarballs = packages.flatMap(({ name, tarball }) =>
    wanted.has(name) ? [quoted(tarball)] : [],
  );
  return `npm install ${tarballs.join(" \\\n    ")}`;
}

/** The text for tarballs in a folder: where Node has no `node:sqlite`, an inbox in a file needs libsql beside it. */
export function installAdvice(packages, folder, hasSqlite) {
  const app = ["@reporthook/core", "@reporthook/sqlite", "@reporthook/express"];
  return `
${packages.length} tarballs are in ${folder}. Install in your project what you use, for instance for Express
with an inbox in a file:

  ${installLine(packages, app)} express${hasSqlite ? "" : " libsql"}

and the command line, npx reporthook:

  ${installLine(packages, ["reporthook"])}
`;
}
