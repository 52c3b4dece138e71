import { rmSync } from "node:fs";
import { startChild } from "./child.ts";
import type { Direct } from "./direct.ts";
import { newFolder } from "./inboxes.ts";
import { type Done, howFar } from "./progress.ts";

type Detail = (text: string) => void;

/** Works straight on a new inbox in a process of its own; resolves to deliveries a second. */
export async function onInbox(
  direct: Omit<Direct, "folder">,
  detail: Detail,
  env: Record<string, string> = {},
): Promise<number> {
  const folder = newFolder();
  try {
    return await onInboxOf({ ...direct, folder }, detail, env);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Likewise on the inbox of a folder, which stays. */
export async function onInboxOf(
  direct: Direct,
  detail: Detail,
  env: Record<string, string> = {},
): Promise<number> {
  const child = startChild("direct", env);
  child.onNews((news) => detail(howFar(news as Done)));
  try {
    return await child.ask<number>(direct);
  } finally {
    await child.end();
  }
}
