import type { JSX } from "preact";
import type { WireDelivery } from "../src/deliveries/wire.ts";
import { useConfirm } from "./confirm.tsx";
import { post } from "./live.ts";
import { deliveries, reasonHint, reasonName, reasonWithCode } from "./words.ts";

/** Releases all that are parked for a reason. */
export function ReleaseAll({
  reason,
  number,
}: {
  readonly reason: string;
  readonly number: number;
}): JSX.Element {
  const ask = useConfirm();
  return (
    <button
      type="button"
      onClick={() =>
        ask({
          title: `Release ${deliveries(number)}?`,
          text: `All that are parked with the reason ${reasonWithCode(reason)} run again, attempts from zero. ${reasonHint(reason)}`,
          verb: `Release ${deliveries(number)}`,
          run: async () => {
            const done = await post(`api/release?${new URLSearchParams({ reason })}`);
            return `${deliveries(done)} released.`;
          },
        })
      }
    >
      {number > 1 ? `Release all ${number}` : "Release it"}
      <span class="unseen"> with the reason {reasonName(reason)}</span>
    </button>
  );
}

/** What may be done with one. */
export function Actions({
  delivery: { id, state, nextAttemptAt, verification, reason, body },
  sameReason,
}: {
  readonly delivery: WireDelivery;
  readonly sameReason: number;
}): JSX.Element | null {
  const ask = useConfirm();
  const isParked = state === "held" || state === "dead";
  const isDoubtful = verification !== "valid" && verification !== null;
  const doubt = isDoubtful ? " It goes to them without a valid verdict." : "";
  const release = (title: string, said: string): void =>
    ask({
      title,
      text: `Your handlers run again for it, attempts from zero.${doubt}`,
      verb: "Release 1 delivery",
      run: async () => {
        await post(`api/deliveries/${id}/release`);
        return said;
      },
    });
  const retry = (): void =>
    ask({
      title: "Try 1 delivery now?",
      text: "It waits no longer for its next try. Its attempts are counted on.",
      verb: "Try 1 delivery now",
      run: async () => {
        await post(`api/deliveries/${id}/retry`);
        return "It is tried now.";
      },
    });
  const waits = nextAttemptAt !== null && new Date(nextAttemptAt).getTime() > Date.now();
  return (
    <div class="buttons">
      {isParked && (
        <button
          type="button"
          class="primary"
          onClick={() => release("Release 1 delivery?", "1 delivery released.")}
        >
          Release
        </button>
      )}
      {isParked && reason !== null && sameReason > 1 && (
        <ReleaseAll reason={reason.code} number={sameReason} />
      )}
      {waits && (
        <button type="button" class="primary" onClick={retry}>
          Retry now
        </button>
      )}
      {state === "handled" && body !== null && (
        <button
          type="button"
          onClick={() => release("Handle 1 delivery again?", "1 delivery released.")}
        >
          Handle again
        </button>
      )}
    </div>
  );
}
