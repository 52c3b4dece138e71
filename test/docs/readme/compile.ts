import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Checks the types of the files in a folder; resolves to what is wrong. */
export async function compile(folder: string, include: readonly string[]): Promise<string> {
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { isolatedDeclarations: false, declaration: false },
    include,
    exclude: [],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const result = await promisify(execFile)(process.execPath, [tsc, "-p", folder], {
    cwd: root,
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? String(error) }));
  return result.stdout;
}
