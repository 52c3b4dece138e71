import type { JSX } from "preact";
import { maxDiscarded, type WireDelivery } from "../src/deliveries/wire.ts";
import { useConfirm } from "./confirm.tsx";
import { count, deliveries, reasonHint, reasonName, reasonWithCode } from "./labels.ts";
import { post } from "./live.ts";
import { go } from "./route.ts";

/** Releases or discards all that are parked for a reason. */
export function AllOf({
  reason,
  number,
}: {
  readonly reason: string;
  readonly number: number;
}): JSX.Element {
  return (
    <div class="buttons">
      <ReleaseAll reason={reason} number={number} />
      <DiscardAll reason={reason} number={number} />
    </div>
  );
}

interface OfReason {
  readonly reason: string;
  readonly number: number;
}

function ReleaseAll({ reason, number }: OfReason): JSX.Element {
  const ask = useConfirm();
  return (
    <button
      type="button"
      onClick={() =>
        ask({
          title: `Release ${deliveries(number)}?`,
          text: `All deliveries parked with the reason ${reasonWithCode(reason)} run again. Attempts start from zero. ${reasonHint(reason)}`,
          verb: `Release ${deliveries(number)}`,
          command: `release --reason ${reason}`,
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

function DiscardAll({ reason, number }: OfReason): JSX.Element {
  const ask = useConfirm();
  const most = Math.min(number, maxDiscarded);
  const which = most < number ? `the oldest ${count(most)}` : `all ${count(number)}`;
  return (
    <button
      type="button"
      onClick={() =>
        ask({
          title: `Discard ${deliveries(most)}?`,
          text: `This deletes ${number > 1 ? which : "the one"} parked with the reason ${reasonWithCode(reason)}. ${forGood}`,
          verb: `Discard ${deliveries(most)}`,
          isFinal: true,
          // The command would discard all.
          ...(most === number && { command: `discard --reason ${reason}` }),
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
  const doubt = isDoubtful ? " They get it without a valid verdict." : "";
  const release = (title: string, said: string): void =>
    ask({
      title,
      text: `Your handlers run again. Attempts start from zero.${doubt}`,
      verb: "Release 1 delivery",
      command: `release ${id}`,
      run: async () => {
        await post(`api/deliveries/${id}/release`);
        return said;
      },
    });
  const retry = (): void =>
    ask({
      title: "Retry 1 delivery now?",
      text: "It is retried immediately. Its attempts continue to count.",
      verb: "Retry 1 delivery now",
      command: `retry ${id}`,
      run: async () => {
        await post(`api/deliveries/${id}/retry`);
        return "It is being retried.";
      },
    });
  const discard = (): void =>
    ask({
      title: "Discard 1 delivery?",
      text: `This deletes it from the inbox. ${forGood}`,
      verb: "Discard 1 delivery",
      command: `discard ${id}`,
      isFinal: true,
      run: async () => {
        await post(`api/deliveries/${id}/discard`);
        go({ screen: "overview" });
        return "1 delivery discarded.";
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
      {isParked && (
        <button type="button" onClick={discard}>
          Discard
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
