/** An app's question to the service about a notification, or its absence. */
export type Ask =
  | {
      readonly what: "asked";
      readonly name: string;
      readonly id: string | null;
      readonly verdict: string;
    }
  | { readonly what: "unasked"; readonly name: string; readonly id: string | null };

/** Watches whether the app asks the service about the notifications that it got. */
export interface Asks {
  /** A notification is on its way to the app. */
  sent(signature: string | null, name: string): void;
  /** The app has answered, with an id if it stored the notification. */
  answered(signature: string | null, isDelivered: boolean, id: string | null): void;
  /** The service has answered the app about a signature. */
  asked(signature: string | null, status: number): void;
  close(): void;
}

/** How long an app may take to ask, in milliseconds. */
export const askMs = 5_000;

const verdicts: Readonly<Record<number, string>> = {
  200: "valid (200)",
  406: "invalid (406)",
  424: "expired (424)",
};

/** Creates the watch; it tells each question, and each that does not come in time. */
export function createAsks(tell: (ask: Ask) => void): Asks {
  const waiting = new Map<string, { readonly name: string; id: string | null }>();
  const timers = new Map<string, NodeJS.Timeout>();
  const forget = (signature: string): void => {
    clearTimeout(timers.get(signature));
    timers.delete(signature);
    waiting.delete(signature);
  };
  return {
    sent(signature, name) {
      if (signature !== null && signature !== "") waiting.set(signature, { name, id: null });
    },
    answered(signature, isDelivered, id) {
      const entry = waiting.get(signature ?? "");
      if (signature === null || entry === undefined) return;
      if (!isDelivered) return forget(signature);
      entry.id = id;
      const late = (): void => {
        forget(signature);
        tell({ what: "unasked", ...entry });
      };
      timers.set(signature, setTimeout(late, askMs).unref());
    },
    asked(signature, status) {
      const entry = waiting.get(signature ?? "");
      const verdict = verdicts[status];
      if (signature === null || entry === undefined) return;
      forget(signature);
      // The playground reports a refused key by itself.
      if (verdict !== undefined) tell({ what: "asked", ...entry, verdict });
    },
    close() {
      for (const signature of [...waiting.keys()]) forget(signature);
    },
  };
}
