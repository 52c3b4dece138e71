import type { Act } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireDelivery, WireGroup } from "../src/deliveries/wire.ts";
import type { Action } from "./confirm.tsx";
import { count, deliveries, reasonHint, reasonWithCode } from "./labels.ts";
import { post } from "./live.ts";
import { go } from "./route.ts";

/** The actions that a delivery allows, if it is still as it was shown. */
export function actionsOn(delivery: WireDelivery): Action[] {
  const { id, state, reason, verification, nextAttemptAt, body, changedAt } = delivery;
  const does = (act: Act, said: string, which = id): Pick<Action, "command" | "run"> => ({
    command: `inbox ${act} ${which}`,
    run: async () => {
      const shown = { state, unchangedSince: changedAt, ...(reason && { reason: reason.code }) };
      const done = await post(`api/deliveries/${id}/${act}?${new URLSearchParams(shown)}`);
      if (done === 0) throw new Error("It has changed meanwhile: look at it again.");
      if (act === "discard") go("./");
      return said;
    },
  });
  const isDoubtful = verification !== "valid" && verification !== null;
  const doubt = isDoubtful ? " They get it without a valid verdict." : "";
  const release = {
    ...does("release", "1 delivery released."),
    text: `Your handlers run again. Attempts start from zero.${doubt}`,
  };
  if (state === "held" || state === "dead") {
    const discard = {
      ...does("discard", "1 delivery discarded."),
      label: "Discard",
      verb: "Discard 1 delivery",
      text: "This deletes it from the inbox. Its body and history can't be restored.",
      isFinal: true,
    };
    return [{ ...release, label: "Release", verb: "Release 1 delivery", isPrimary: true }, discard];
  }
  if (nextAttemptAt !== null && new Date(nextAttemptAt).getTime() > Date.now()) {
    const retry = {
      ...does("retry", "It is being retried."),
      label: "Retry now",
      verb: "Retry 1 delivery now",
      text: "It is retried immediately. Its attempts continue to count.",
      isPrimary: true,
    };
    return [retry];
  }
  if (body !== null && state === "rejected") {
    const askAgain = {
      ...does("retry", "The service is asked again.", "--state rejected"),
      label: "Ask the service again",
      verb: "Ask again about 1 delivery",
      text: "It is verified again with its signature. After 5 minutes that has expired: then it is held.",
    };
    return [askAgain];
  }
  if (body === null || state !== "handled") return [];
  return [{ ...release, label: "Handle again", verb: "Handle 1 delivery again" }];
}

const leftOut = "What nobody vouches for is left out.";

/** The parked deliveries with one reason or one error, as they were counted. */
interface Parked {
  readonly of: string | WireGroup;
  readonly number: number;
  /** When one of the parked changed last. */
  readonly changedAt: string | null;
  readonly errors: readonly WireGroup[];
}

/** The actions on all that are parked for a reason, or with an error, if they are still as they were shown. */
export function actionsOnAll(parked: Parked): Action[] {
  const { of, number: all, changedAt } = parked;
  const [filter, value, name, hint, released] =
    typeof of === "string"
      ? ["reason", of, `the reason ${reasonWithCode(of)}`, reasonHint(of), all]
      : ["error", of.error, `the error “${of.text}”`, leftOut, of.releasable];
  const [which, whose] =
    all > 1 ? [`all ${count(all)}`, "Their bodies and histories"] : ["it", "Its body and history"];
  const action = (act: Act, verb: string, number: number, text: string): Action => ({
    label: (
      <>
        {verb} {number < all ? count(number) : which}
        <span class="unseen"> with {name}</span>
      </>
    ),
    verb: `${verb} ${deliveries(number)}`,
    text,
    more: <Errors {...parked} />,
    isFinal: act === "discard",
    command: `inbox ${act} --${filter} ${value}`,
    run: async () => {
      const shown = { [filter]: value, ...(changedAt && { unchangedSince: changedAt }) };
      const done = await post(`api/${act}?${new URLSearchParams(shown)}`);
      const changed = number - done;
      const have = changed === 1 ? "has" : "have";
      const rest = changed > 0 ? ` ${count(changed)} ${have} changed meanwhile: left alone.` : "";
      return `${deliveries(done)} ${act === "release" ? "released" : "discarded"}.${rest}`;
    },
  });
  const run = `All deliveries parked with ${name} run again. Attempts start from zero. ${hint}`;
  const end = `This deletes ${all > 1 ? which : "the one"} parked with ${name}. ${whose} can't be restored.`;
  const discard = action("discard", "Discard", all, end);
  return released === 0 ? [discard] : [action("release", "Release", released, run), discard];
}

/** The errors of a reason, if they differ: what is right for one may be wrong for another. */
function Errors({ number, errors }: Parked): JSX.Element | null {
  if (errors.length === 0 || errors[0]?.count === number) return null;
  const others = errors.reduce((left, { count: alike }) => left - alike, number);
  return (
    <>
      <p>They have different errors:</p>
      <ul>
        {errors.map(({ error, text, count: alike }) => (
          <li key={error}>
            {count(alike)} × <bdi>{text}</bdi>
          </li>
        ))}
        {others > 0 && <li>{count(others)} × another error, or none</li>}
      </ul>
    </>
  );
}
