import type { Act } from "@reporthook/core";
import type { JSX } from "preact";
import type { WireDelivery } from "../src/deliveries/wire.ts";
import { ActionButton } from "./confirm.tsx";
import { post } from "./live.ts";
import { go } from "./route.ts";

/** An action that a delivery allows in its state. */
interface Action {
  readonly act: Act;
  readonly label: string;
  readonly isPrimary?: boolean;
  /** The label of the button that confirms. */
  readonly verb: string;
  readonly text: string;
  readonly said: string;
  /** The selection on the command line, where that is not the id. */
  readonly which?: string;
}

/** The actions on one delivery. */
export function Actions({
  receiver,
  delivery,
}: {
  readonly receiver: string;
  readonly delivery: WireDelivery;
}): JSX.Element {
  return (
    <div class="buttons">
      {actionsOn(delivery).map(({ act, label, isPrimary, which = delivery.id, said, ...texts }) => (
        <ActionButton
          key={label}
          isPrimary={isPrimary}
          question={{
            ...texts,
            isFinal: act === "discard",
            command: `inbox ${act} ${which} --receiver ${receiver}`,
            run: async () => {
              await run(act, delivery);
              if (act === "discard") go({ screen: "overview" });
              return said;
            },
          }}
        >
          {label}
        </ActionButton>
      ))}
    </div>
  );
}

/** Acts on one delivery, if it is still as it was shown. */
async function run(act: Act, { id, state, reason, changedAt }: WireDelivery): Promise<void> {
  const shown = { state, unchangedSince: changedAt, ...(reason && { reason: reason.code }) };
  const done = await post(`api/deliveries/${id}/${act}?${new URLSearchParams(shown)}`);
  if (done === 0) throw new Error("It has changed meanwhile: look at it again.");
}

function actionsOn({ state, verification, nextAttemptAt, body }: WireDelivery): Action[] {
  const isParked = state === "held" || state === "dead";
  const waits = nextAttemptAt !== null && new Date(nextAttemptAt).getTime() > Date.now();
  const isDoubtful = verification !== "valid" && verification !== null;
  const doubt = isDoubtful ? " They get it without a valid verdict." : "";
  const release = {
    act: "release",
    text: `Your handlers run again. Attempts start from zero.${doubt}`,
    said: "1 delivery released.",
  } as const;
  const discard: Action = {
    act: "discard",
    label: "Discard",
    verb: "Discard 1 delivery",
    text: "This deletes it from the inbox. Its body and history can't be restored.",
    said: "1 delivery discarded.",
  };
  if (isParked) {
    const again = { ...release, label: "Release", verb: "Release 1 delivery", isPrimary: true };
    return [again, discard];
  }
  if (waits) return [retry];
  if (body === null) return [];
  if (state === "rejected") return [askAgain];
  if (state !== "handled") return [];
  return [{ ...release, label: "Handle again", verb: "Handle 1 delivery again" }];
}

const retry: Action = {
  act: "retry",
  label: "Retry now",
  isPrimary: true,
  verb: "Retry 1 delivery now",
  text: "It is retried immediately. Its attempts continue to count.",
  said: "It is being retried.",
};

const askAgain: Action = {
  act: "retry",
  label: "Ask the service again",
  verb: "Ask again about 1 delivery",
  text: "It is verified again with its signature. After 5 minutes that has expired: then it is held.",
  said: "The service is asked again.",
  which: "--state rejected",
};
