// The files that a tarball may carry.

const carried = /^(package\.json|README\.md|LICENSE|dist\/cjs\/package\.json)$/;
const built = /^dist\/(esm|cjs)\/([\w-]+\/)*[\w-]+\.(js|d\.ts)$/;
const ofPackage = {
  "@reporthook/core": /^(CHANGELOG|docs\/[\w-]+)\.md$/,
  "@reporthook/dashboard": /^monitoring\/rules\.yml$/,
  "@reporthook/sqlite": /^schema\.sql$/,
};

/** The files of a package that nobody should install: neither code nor types nor what it is known to carry. */
export function strayFiles({ name, files }) {
  return [...files].filter(
    (file) => ![carried, built, ofPackage[name]].some((kind) => kind?.test(file)),
  );
}
