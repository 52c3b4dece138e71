import type { JSX } from "preact";
import type { CommonError } from "../src/deliveries/errors.ts";
import { maxDiscarded, type WireDelivery } from "../src/deliveries/wire.ts";
import { type Question, useConfirm } from "./confirm.tsx";
import { count, deliveries, reasonHint, reasonName, reasonWithCode } from "./labels.ts";
import { post } from "./live.ts";
import { go } from "./route.ts";

/** Releases or discards all that are parked for a reason. */
export function AllOf(all: OfReason): JSX.Element {
  return (
    <div class="buttons">
      <ReleaseAll {...all} />
      <DiscardAll {...all} />
    </div>
  );
}

interface OfReason {
  readonly receiver: string;
  readonly reason: string;
  readonly number: number;
  readonly errors: readonly CommonError[];
}

/** The errors of a reason, if they differ: what is right for one may be wrong for another. */
function Errors({ number, errors }: OfReason): JSX.Element | null {
  const [first] = errors;
  if (first === undefined || first.number === first.of) return null;
  const others = errors.reduce((left, { number: alike }) => left - alike, first.of);
  return (
    <>
      <p>{first.of < number ? `The newest ${count(first.of)}` : "They"} have different errors:</p>
      <ul>
        {errors.map(({ id, text, number: alike }) => (
          <li key={id}>
            {count(alike)} × <bdi class="failure">{text}</bdi>
          </li>
        ))}
        {others > 0 && <li>{count(others)} × another error, or none</li>}
      </ul>
    </>
  );
}

function ReleaseAll(all: OfReason): JSX.Element {
  const { receiver, reason, number } = all;
  const ask = useConfirm();
  return (
    <button
      type="button"
      onClick={() =>
        ask({
          title: `Release ${deliveries(number)}?`,
          text: `All deliveries parked with the reason ${reasonWithCode(reason)} run again. Attempts start from zero. ${reasonHint(reason)}`,
          more: <Errors {...all} />,
          verb: `Release ${deliveries(number)}`,
          command: `release --reason ${reason} --receiver ${receiver}`,
          run: async () => {
            const done = await post(`api/release?${new URLSearchParams({ reason })}`);
            return `${deliveries(done)} released.`;
          },
        })
      }
    >
      {number > 1 ? `Release all ${count(number)}` : "Release it"}
      <span class="unseen"> with the reason {reasonName(reason)}</span>
    </button>
  );
}

const forGood = "Its body and history can't be restored.";
const allForGood = "Their bodies and histories can't be restored.";

function DiscardAll(all: OfReason): JSX.Element {
  const { receiver, reason, number } = all;
  const ask = useConfirm();
  const most = Math.min(number, maxDiscarded);
  const which = most < number ? `the oldest ${count(most)}` : `all ${count(number)}`;
  return (
    <button
      type="button"
      onClick={() =>
        ask({
          title: `Discard ${deliveries(most)}?`,
          text: `This deletes ${number > 1 ? which : "the one"} parked with the reason ${reasonWithCode(reason)}. ${most > 1 ? allForGood : forGood}`,
          more: <Errors {...all} />,
          verb: `Discard ${deliveries(most)}`,
          isFinal: true,
          // The command would discard all.
          ...(most === number && {
            command: `discard --reason ${reason} --receiver ${receiver}`,
          }),
          run: async () => {
            const query = new URLSearchParams({ reason, most: String(most) });
            return `${deliveries(await post(`api/discard?${query}`))} discarded.`;
          },
        })
      }
    >
      {number > 1 ? `Discard ${which}` : "Discard it"}
      <span class="unseen"> with the reason {reasonName(reason)}</span>
    </button>
  );
}

/** The actions on one delivery. */
export function Actions(one: OfDelivery): JSX.Element | null {
  const { state, nextAttemptAt, body } = one.delivery;
  const isParked = state === "held" || state === "dead";
  const waits = nextAttemptAt !== null && new Date(nextAttemptAt).getTime() > Date.now();
  return (
    <div class="buttons">
      {isParked && (
        <ActionButton question={releaseQuestion(one, "Release 1 delivery?")} isPrimary>
          Release
        </ActionButton>
      )}
      {isParked && <ActionButton question={discardQuestion(one)}>Discard</ActionButton>}
      {waits && (
        <ActionButton question={retryQuestion(one)} isPrimary>
          Retry now
        </ActionButton>
      )}
      {state === "handled" && body !== null && (
        <ActionButton question={releaseQuestion(one, "Handle 1 delivery again?")}>
          Handle again
        </ActionButton>
      )}
    </div>
  );
}

interface OfDelivery {
  readonly receiver: string;
  readonly delivery: WireDelivery;
}

/** A button that asks before it acts. */
function ActionButton({
  question,
  isPrimary = false,
  children,
}: {
  readonly question: Question;
  readonly isPrimary?: boolean;
  readonly children: string;
}): JSX.Element {
  const ask = useConfirm();
  return (
    <button type="button" class={isPrimary ? "primary" : undefined} onClick={() => ask(question)}>
      {children}
    </button>
  );
}

function releaseQuestion({ receiver, delivery }: OfDelivery, title: string): Question {
  const { id, verification } = delivery;
  const isDoubtful = verification !== "valid" && verification !== null;
  const doubt = isDoubtful ? " They get it without a valid verdict." : "";
  return {
    title,
    text: `Your handlers run again. Attempts start from zero.${doubt}`,
    verb: "Release 1 delivery",
    command: `release ${id} --receiver ${receiver}`,
    run: async () => {
      await post(`api/deliveries/${id}/release`);
      return "1 delivery released.";
    },
  };
}

function retryQuestion({ receiver, delivery: { id } }: OfDelivery): Question {
  return {
    title: "Retry 1 delivery now?",
    text: "It is retried immediately. Its attempts continue to count.",
    verb: "Retry 1 delivery now",
    command: `retry ${id} --receiver ${receiver}`,
    run: async () => {
      await post(`api/deliveries/${id}/retry`);
      return "It is being retried.";
    },
  };
}

function discardQuestion({ receiver, delivery: { id } }: OfDelivery): Question {
  return {
    title: "Discard 1 delivery?",
    text: `This deletes it from the inbox. ${forGood}`,
    verb: "Discard 1 delivery",
    command: `discard ${id} --receiver ${receiver}`,
    isFinal: true,
    run: async () => {
      await post(`api/deliveries/${id}/discard`);
      go({ screen: "overview" });
      return "1 delivery discarded.";
    },
  };
}
