import { type ComponentChildren, createContext, type JSX } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Copy } from "./parts.tsx";
import { focusMain, useView } from "./screen.tsx";

/** An action that is done once a person has agreed. */
export interface Action {
  /** On the button that asks. */
  readonly label: ComponentChildren;
  readonly isPrimary?: boolean;
  /** In the title of the question, and on the button that confirms. */
  readonly verb: string;
  readonly text: string;
  /** Shown below the text. */
  readonly more?: JSX.Element | null;
  /** Whether it can't be undone. */
  readonly isFinal?: boolean;
  /** How the command line does the same, after `npx reporthook`. */
  readonly command: string;
  /** Does it; resolves to what to say about it. */
  readonly run: () => Promise<string>;
}

/** An action, and the line that does the same. */
type Asked = Action & { readonly line: string };

const Asking = createContext<(asked: Asked) => void>(() => {});

/** The buttons of actions, which ask before they act, for a person who may. Others see nothing, or the command of the first. */
export function Actions({
  of,
  elseCommand,
}: {
  readonly of: readonly Action[];
  readonly elseCommand?: boolean;
}): JSX.Element | null {
  const ask = useContext(Asking);
  const view = useView();
  const [first] = of;
  if (view === null || first === undefined) return null;
  const lineOf = ({ command }: Action): string =>
    `npx reporthook ${command} --receiver ${view.receiver} --db inbox.db`;
  if (view.viewer.may !== "act") return elseCommand ? <Command line={lineOf(first)} /> : null;
  return (
    <div class="buttons">
      {of.map((action) => (
        <button
          key={action.command}
          type="button"
          class={action.isPrimary ? "primary" : undefined}
          onClick={() => ask({ ...action, line: lineOf(action) })}
        >
          {action.label}
        </button>
      ))}
    </div>
  );
}

interface Said {
  readonly text: string;
  readonly failed: boolean;
}

/** Shows questions and the results of actions, until another place is shown. */
export function Confirming({
  place,
  children,
}: {
  readonly place: string;
  readonly children: JSX.Element;
}): JSX.Element {
  const [asked, ask] = useState<Asked | null>(null);
  const [said, say] = useState<Said | null>(null);
  // The message of an action that goes to another screen stays: it is set after the layout effects.
  useLayoutEffect(() => {
    ask(null);
    say(null);
  }, [place]);
  useEffect(() => {
    if (said === null || said.failed) return;
    const timer = setTimeout(() => say(null), 6_000);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <Asking.Provider value={ask}>
      {children}
      {asked !== null && <Question {...asked} say={say} close={() => ask(null)} />}
      <div class="said" role="status">
        {said !== null && (
          <p class={said.failed ? "is-failed" : ""}>
            {said.text}
            <button type="button" class="quiet" onClick={() => say(null)}>
              Close
            </button>
          </p>
        )}
      </div>
    </Asking.Provider>
  );
}

function Question({
  verb,
  text,
  more,
  isFinal,
  run,
  line,
  say,
  close,
}: Asked & { readonly say: (said: Said) => void; readonly close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const agree = async (): Promise<void> => {
    setBusy(true);
    const said = await run().then(
      (done) => ({ text: done, failed: false }),
      ({ message }: Error) => ({ text: message, failed: true }),
    );
    say(said);
    // The user has moved on.
    if (dialog.current === null) return;
    dialog.current.close();
    // The pressed button disappears with its row.
    if (!said.failed) focusMain();
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
      <Command line={line} />
    </dialog>
  );
}

function Command({ line }: { readonly line: string }): JSX.Element {
  return (
    <p class="soft">
      On the command line, with your inbox’s file: <code>{line}</code>
      <Copy text={line}>Copy</Copy>
    </p>
  );
}
