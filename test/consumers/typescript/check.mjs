// Compiles the app with each TypeScript and each way to find modules, with nothing of our declarations skipped. The
// versions between the first and the last of TypeScript 5 take one way only, unless TYPESCRIPT=all.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);
const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
const compilers = Object.keys(dependencies).filter((name) => name.startsWith("typescript-"));

const entries = JSON.parse(readFileSync("../entries.json", "utf8"));
const all = [
  ...entries.map((entry, index) => `import * as entry${index} from "${entry}";`),
  `export const entries = [${entries.map((_, index) => `entry${index}`).join(", ")}];`,
].join("\n");
const app = readFileSync("app.ts", "utf8");
mkdirSync("app");
for (const extension of ["mts", "cts"]) {
  writeFileSync(`app/app.${extension}`, app);
  writeFileSync(`app/all.${extension}`, all);
}

const esmAndCjs = ["app/app.mts", "app/all.mts", "app/app.cts", "app/all.cts"];
const esm = ["app/app.mts", "app/all.mts"];
const ways = [
  { module: "node16", files: esmAndCjs },
  { module: "nodenext", files: esmAndCjs },
  { module: "esnext", moduleResolution: "bundler", files: esm },
  { module: "commonjs", moduleResolution: "node10", files: ["app/app.cts", "app/all.cts"] },
];

function waysOf(compiler) {
  const between = /-5\.[4-8]$/.test(compiler);
  if (between && process.env.TYPESCRIPT !== "all") return ways.slice(1, 2);
  // TypeScript 6 deprecates the last one.
  return compiler.includes("-5.") ? ways : ways.slice(0, 3);
}

async function compile(compiler) {
  for (const { files, ...way } of waysOf(compiler)) {
    const config = `tsconfig.${compiler}.${way.moduleResolution ?? way.module}.json`;
    const compilerOptions = {
      ...way,
      target: "es2022",
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
      types: ["node"],
    };
    writeFileSync(config, JSON.stringify({ compilerOptions, files }));
    await run("node", [`node_modules/${compiler}/bin/tsc`, "-p", config]).catch((error) => {
      throw new Error(`${config}\n${error.stdout}${error.stderr}`);
    });
  }
  console.log(`${compiler} compiles`);
}

// Two at a time.
const queue = [...compilers];
const work = async () => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) await compile(next);
};
await Promise.all([work(), work()]);
