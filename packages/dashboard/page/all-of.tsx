import type { JSX } from "preact";
import type { WireGroup } from "../src/deliveries/wire.ts";
import { ActionButton } from "./confirm.tsx";
import { count, deliveries, reasonHint, reasonWithCode } from "./labels.ts";
import { post } from "./live.ts";

/** Releases or discards all that are parked for a reason, or with an error. */
export function AllOf(all: OfKind): JSX.Element {
  return (
    <div class="buttons">
      <ActOnAll {...all} act="release" />
      <ActOnAll {...all} act="discard" />
    </div>
  );
}

/** The buttons of a reason. */
export function AllOfReason({
  reason,
  ...all
}: Omit<OfKind, "kind" | "name" | "hint"> & { readonly reason: string }): JSX.Element {
  const name = `the reason ${reasonWithCode(reason)}`;
  return <AllOf {...all} kind={{ reason }} name={name} hint={reasonHint(reason)} />;
}

type Verb = "release" | "discard";

interface OfKind {
  readonly receiver: string;
  /** The filter, as the address and the command line have it. */
  readonly kind: Readonly<Record<string, string>>;
  /** The kind in words: the reason, or the error. */
  readonly name: string;
  readonly hint: string;
  readonly number: number;
  /** When a parked one changed last, as they were counted. */
  readonly changedAt: string | null;
  readonly errors: readonly WireGroup[];
}

/** The errors of a reason, if they differ: what is right for one may be wrong for another. */
function Errors({ number, errors }: OfKind): JSX.Element | null {
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

function ActOnAll({ act, ...all }: OfKind & { readonly act: Verb }): JSX.Element {
  const { receiver, kind, name, number, hint } = all;
  const verb = act === "release" ? "Release" : "Discard";
  const which = number > 1 ? `all ${count(number)}` : "the one";
  const whose = number > 1 ? "Their bodies and histories" : "Its body and history";
  const text = {
    release: `All deliveries parked with ${name} run again. Attempts start from zero. ${hint}`,
    discard: `This deletes ${which} parked with ${name}. ${whose} can't be restored.`,
  };
  return (
    <ActionButton
      question={{
        verb: `${verb} ${deliveries(number)}`,
        text: text[act],
        more: <Errors {...all} />,
        isFinal: act === "discard",
        command: `inbox ${act} ${optionOf(kind)} --receiver ${receiver}`,
        run: () => runOnAll(act, all),
      }}
    >
      {number > 1 ? `${verb} all ${count(number)}` : `${verb} it`}
      <span class="unseen"> with {name}</span>
    </ActionButton>
  );
}

function optionOf(kind: OfKind["kind"]): string {
  return Object.entries(kind)
    .map(([name, value]) => `--${name} ${value}`)
    .join(" ");
}

/** Acts on those that are still as they were shown, and says how many have changed. */
async function runOnAll(act: Verb, { kind, number, changedAt }: OfKind): Promise<string> {
  const shown = new URLSearchParams({ ...kind, ...(changedAt && { unchangedSince: changedAt }) });
  const done = await post(`api/${act}?${shown}`);
  const changed = number - done;
  const have = changed === 1 ? "has" : "have";
  const rest = changed > 0 ? ` ${count(changed)} ${have} changed meanwhile: left alone.` : "";
  return `${deliveries(done)} ${act === "release" ? "released" : "discarded"}.${rest}`;
}
