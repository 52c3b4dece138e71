import type { JSX } from "preact";
import type { WireDelivery } from "../src/deliveries/wire.ts";
import { type Question, useConfirm } from "./confirm.tsx";
import { post } from "./live.ts";
import { go } from "./route.ts";

/** Acts on one delivery, if it is still as it was shown. */
async function runOnOne(
  act: "release" | "retry" | "discard",
  { id, state, reason, changedAt }: WireDelivery,
): Promise<void> {
  const shown = { state, unchangedSince: changedAt, ...(reason && { reason: reason.code }) };
  const done = await post(`api/deliveries/${id}/${act}?${new URLSearchParams(shown)}`);
  if (done === 0) throw new Error("It has changed meanwhile: look at it again.");
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
      {state === "rejected" && body !== null && (
        <ActionButton question={askAgainQuestion(one)}>Ask the service again</ActionButton>
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
      await runOnOne("release", delivery);
      return "1 delivery released.";
    },
  };
}

function retryQuestion({ receiver, delivery }: OfDelivery): Question {
  const { id } = delivery;
  return {
    title: "Retry 1 delivery now?",
    text: "It is retried immediately. Its attempts continue to count.",
    verb: "Retry 1 delivery now",
    command: `retry ${id} --receiver ${receiver}`,
    run: async () => {
      await runOnOne("retry", delivery);
      return "It is being retried.";
    },
  };
}

function askAgainQuestion({ receiver, delivery }: OfDelivery): Question {
  return {
    title: "Ask the service again about 1 delivery?",
    text: "It is verified again with its signature. After 5 minutes that has expired: then it is held.",
    verb: "Ask again about 1 delivery",
    command: `retry --state rejected --receiver ${receiver}`,
    run: async () => {
      await runOnOne("retry", delivery);
      return "The service is asked again.";
    },
  };
}

function discardQuestion({ receiver, delivery }: OfDelivery): Question {
  const { id } = delivery;
  return {
    title: "Discard 1 delivery?",
    text: `This deletes it from the inbox. Its body and history can't be restored.`,
    verb: "Discard 1 delivery",
    command: `discard ${id} --receiver ${receiver}`,
    isFinal: true,
    run: async () => {
      await runOnOne("discard", delivery);
      go({ screen: "overview" });
      return "1 delivery discarded.";
    },
  };
}
