import { assertObject } from "../assert.ts";
import { aheadCases } from "./ahead.ts";
import { answerCases } from "./answers.ts";
import { bodyCases } from "./bodies.ts";
import { callbackCases } from "./callback.ts";
import { closingCases } from "./closing.ts";
import { contextCases } from "./context.ts";
import { type Definition, withMountFixture } from "./fixture.ts";
import type { MountCase, MountHost } from "./host.ts";
import { waitingCases } from "./waiting.ts";
import { wireCases } from "./wire.ts";

/**
 * The endpoint's contract as cases for any test runner: every answer, byte for byte, on the host that is given.
 *
 * @throws TypeError when the host is no object, or its `skip` names no case
 * @example for (const one of mountContract(host)) test(one.name, one.run);
 */
export function mountContract(host: MountHost): MountCase[] {
  assertObject("mountContract: host", host);
  const definitions = [
    ...answerCases,
    ...waitingCases,
    ...bodyCases,
    ...callbackCases,
    ...wireCases,
    ...aheadCases,
    ...contextCases,
    ...closingCases,
  ];
  for (const name of Object.keys(host.skip ?? {})) {
    if (definitions.some((definition) => definition.name === name)) continue;
    throw new TypeError(`mountContract: skip names ${JSON.stringify(name)}, which is no case`);
  }
  return definitions.map((definition) => caseOf(definition, host));
}

function caseOf(definition: Definition, host: MountHost): MountCase {
  const skip = host.skip?.[definition.name];
  if (skip !== undefined) return skipped(definition.name, skip);
  if (definition.needs === "all methods" && host.methods === "post") {
    return skipped(definition.name, "only POST reaches the receiver on a route");
  }
  if (definition.needs === "sockets" && host.raw === undefined) {
    return skipped(definition.name, "there is no socket");
  }
  if (definition.needs === "shutdown" && host.connect === undefined) {
    return skipped(definition.name, "the host opens no connections");
  }
  return {
    name: definition.name,
    skip: undefined,
    run: () =>
      "run" in definition
        ? withMountFixture(host, definition, definition.run)
        : definition.runOn(host),
  };
}

function skipped(name: string, reason: string): MountCase {
  return {
    name: `${name} (skipped: ${reason})`,
    skip: reason,
    async run(...[context]) {
      (context as { skip?: (reason: string) => void } | undefined)?.skip?.(reason);
    },
  };
}
