import { type ComponentChildren, createContext, type JSX } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { focusMain } from "./frame.tsx";
import { Copy } from "./parts.tsx";

/** Something to be done once a person has agreed. */
export interface Question {
  /** The verb of the action, in the title and on the button. */
  readonly verb: string;
  readonly text: string;
  /** Shown below the text. */
  readonly more?: JSX.Element;
  /** Whether the action can't be undone. */
  readonly isFinal?: boolean;
  /** How the command line does the same, after `npx reporthook`. */
  readonly command: string;
  /** Does it; resolves to what to say about it. */
  readonly run: () => Promise<string>;
}

type Ask = (question: Question) => void;

const Asking = createContext<Ask>(() => {});

/** A button that asks before it acts. */
export function ActionButton({
  question,
  isPrimary = false,
  children,
}: {
  readonly question: Question;
  readonly isPrimary?: boolean | undefined;
  readonly children: ComponentChildren;
}): JSX.Element {
  const ask = useContext(Asking);
  return (
    <button type="button" class={isPrimary ? "primary" : undefined} onClick={() => ask(question)}>
      {children}
    </button>
  );
}

/** Shows questions and the results of actions. A question of another place is dropped. */
export function Confirming({
  place,
  children,
}: {
  readonly place: string;
  readonly children: JSX.Element;
}): JSX.Element {
  const [asked, setAsked] = useState<{ readonly at: string; readonly question: Question } | null>(
    null,
  );
  const question = asked?.at === place ? asked.question : null;
  const ask = (question: Question): void => setAsked({ at: place, question });
  const [said, setSaid] = useState<{ readonly text: string; readonly failed: boolean } | null>(
    null,
  );
  // The message of an action that goes to another screen stays: it is set after the layout effects.
  useLayoutEffect(() => {
    setAsked(null);
    setSaid(null);
  }, [place]);
  useEffect(() => {
    if (said === null || said.failed) return;
    const timer = setTimeout(() => setSaid(null), 6_000);
    return () => clearTimeout(timer);
  }, [said]);
  const run = async (): Promise<boolean> => {
    try {
      setSaid({ text: (await question?.run()) ?? "", failed: false });
      return true;
    } catch (error) {
      setSaid({ text: error instanceof Error ? error.message : String(error), failed: true });
      return false;
    }
  };
  return (
    <Asking.Provider value={ask}>
      {children}
      {question !== null && <Dialog question={question} run={run} close={() => setAsked(null)} />}
      <div class="said" role="status">
        {said !== null && (
          <p class={said.failed ? "is-failed" : ""}>
            {said.text}
            <button type="button" class="quiet" onClick={() => setSaid(null)}>
              Close
            </button>
          </p>
        )}
      </div>
    </Asking.Provider>
  );
}

function Dialog({
  question: { verb, text, more, isFinal = false, command },
  run,
  close,
}: {
  readonly question: Question;
  /** Resolves to whether it was done. */
  readonly run: () => Promise<boolean>;
  readonly close: () => void;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const agree = async (): Promise<void> => {
    setBusy(true);
    const isDone = await run();
    // The user has moved on.
    if (dialog.current === null) return;
    dialog.current.close();
    // The pressed button disappears with its row.
    if (isDone) focusMain();
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby="question"
      aria-describedby="consequence"
      closedby={busy ? "none" : "closerequest"}
      onCancel={(event) => busy && event.preventDefault()}
      onClose={close}
    >
      <h2 id="question">{verb}?</h2>
      <div id="consequence">
        <p>{text}</p>
        {more}
      </div>
      <div class="buttons">
        <button type="button" aria-disabled={busy} onClick={() => busy || dialog.current?.close()}>
          Cancel
        </button>
        <button
          type="button"
          class={isFinal ? "final" : "primary"}
          aria-disabled={busy}
          onClick={() => busy || void agree()}
        >
          {verb}
        </button>
      </div>
      <Command does={command} />
    </dialog>
  );
}

/** The command line that does the same, to be copied. */
export function Command({ does }: { readonly does: string }): JSX.Element {
  const line = `npx reporthook ${does} --db inbox.db`;
  return (
    <p class="soft">
      On the command line, with your inbox’s file: <code>{line}</code>
      <Copy text={line}>Copy</Copy>
    </p>
  );
}
