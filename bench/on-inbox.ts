import { rmSync } from "node:fs";
import { startChild } from "./child.ts";
import type { Direct, Done } from "./direct.ts";
import { newFolder } from "./inboxes.ts";

/** Works straight on an inbox in a process of its own; resolves to deliveries a second. */
export async function onInbox(
  direct: Omit<Direct, "folder">,
  env: Record<string, string> = {},
): Promise<number> {
  const folder = newFolder();
  const child = startChild("direct", env);
  try {
    const { perSecond } = await child.ask<Done>({ ...direct, folder } satisfies Direct);
    return perSecond;
  } finally {
    await child.end();
    rmSync(folder, { recursive: true, force: true });
  }
}
