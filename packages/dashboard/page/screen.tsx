import { type ComponentChildren, createContext, type JSX } from "preact";
import { useContext, useEffect } from "preact/hooks";
import type { WireView } from "../src/deliveries/wire.ts";
import { type Link, useLive } from "./live.ts";
import { at } from "./route.ts";

const links: Readonly<Record<Link, string>> = {
  connecting: "Connecting…",
  live: "Live",
  lost: "Connection lost, trying again…",
  refused: "Refused",
};

const screens: Readonly<Record<string, string>> = {
  Overview: "./",
  Deliveries: at({ show: "deliveries" }),
  Reports: at({ show: "reports" }),
};

const View = createContext<WireView | null>(null);

/** The part that every view has, with the viewer and the name of the receiver; null while it loads. */
export function useView(): WireView | null {
  return useContext(View);
}

/** Moves the focus of keyboard and screen-reader users to the top of the screen. */
export function focusMain(): void {
  document.getElementById("main")?.focus({ preventScroll: true });
}

/** From now on the focus goes to the screen's beginning when what had it is gone, or can't have it any more: else it is nowhere. */
export function keepFocus(): void {
  let last: Element | null = null;
  const watch = new MutationObserver(() => {
    if (last === null || document.activeElement !== document.body) return;
    if (last.isConnected && !last.matches(":disabled")) return;
    last = null;
    focusMain();
  });
  addEventListener("focusin", ({ target }) => {
    last = target as Element;
  });
  // A click elsewhere gives up the focus.
  addEventListener("pointerdown", () => {
    last = null;
  });
  watch.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
}

// A screen that loads does not know it yet.
let hasReports = false;

/** A screen, with the data of a view as they change. */
export function Screen<T extends WireView>({
  title,
  address,
  subject = address,
  top,
  children,
}: {
  readonly title: string;
  /** Where the data are. */
  readonly address: string;
  /** While another address of the same subject loads, the known data stay. */
  readonly subject?: string;
  /** Shown above the data, and before they are there. */
  readonly top?: ComponentChildren;
  readonly children: (data: T) => JSX.Element;
}): JSX.Element {
  const { link, problem, data } = useLive<T>(address, subject);
  if (data !== null) hasReports = data.reports !== null;
  useEffect(() => {
    document.title = `${title} · reporthook`;
  }, [title]);
  return (
    <View.Provider value={data}>
      <a class="unseen" href="#main">
        Skip to content
      </a>
      <header>
        <span class="mark">reporthook</span>
        <nav aria-label="Screens">
          {Object.entries(screens)
            .filter(([name]) => name !== "Reports" || hasReports)
            .map(([name, address]) => (
              <a key={name} href={address} aria-current={name === title ? "page" : undefined}>
                {name}
              </a>
            ))}
        </nav>
        <span class={`link is-${link}`} role="status">
          {problem === null || data === null ? links[link] : `${problem.detail} Trying again…`}
        </span>
        <span class="soft">
          {data?.viewer.name}
          {data?.viewer.may === "view" && " (view only)"}
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        {problem !== null && data === null ? (
          <div class="empty">
            <h1 class="lead">{problem.title}</h1>
            <p>{problem.detail}</p>
          </div>
        ) : (
          top
        )}
        {data !== null && children(data)}
        {data === null && problem === null && (
          <p class="loading" role="status">
            Loading…
          </p>
        )}
      </main>
    </View.Provider>
  );
}
