import { readFileSync } from "node:fs";
import { CommandFailed } from "./errors.ts";
import { objectIn } from "./exchange.ts";

/** A recorded notification. */
export interface Fixture {
  readonly type: string | null;
  readonly contentType: string | undefined;
  readonly body: string;
  readonly context?: unknown;
}

/** The text of a fixture's file; a JSON body can be edited in it. */
export function fixtureText(fixture: Fixture): string {
  const { type, contentType = "application/json", body, context } = fixture;
  const headers = { "content-type": contentType };
  return JSON.stringify({ type, headers, context, body: objectIn(body) ?? body }, null, 2);
}

/**
 * Reads a recorded notification: a fixture, or else the body itself.
 *
 * @throws CommandFailed `no_file` if the file can't be read
 */
export function fixtureIn(file: string): Fixture {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = `${file} can't be read (${code})`;
    throw new CommandFailed("no_file", `${problem}: name the file of a notification`);
  }
  const { type, headers, body, context } = objectIn(text) ?? {};
  const isFixture = typeof headers === "object" && headers !== null && body !== undefined;
  if (!isFixture) return { type: null, contentType: undefined, body: text };
  const contentType = (headers as Record<string, unknown>)["content-type"];
  return {
    type: typeof type === "string" ? type : null,
    contentType: typeof contentType === "string" ? contentType : undefined,
    body: typeof body === "string" ? body : JSON.stringify(body),
    context,
  };
}
