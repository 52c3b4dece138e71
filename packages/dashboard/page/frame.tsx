import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { WireView } from "../src/deliveries/wire.ts";
import type { Link, LiveData } from "./live.ts";
import { To } from "./parts.tsx";
import type { Route } from "./route.ts";

const links: Readonly<Record<Link, string>> = {
  connecting: "Connecting…",
  live: "Live",
  lost: "Connection lost, trying again…",
  refused: "Refused",
};

/** Moves the focus of keyboard and screen-reader users to the top of the screen. */
export function focusMain(): void {
  document.getElementById("main")?.focus({ preventScroll: true });
}

/** The focus goes to the screen's beginning when what had it is gone, or can't have it any more: else it is nowhere. */
export function useFocus(): void {
  useEffect(() => {
    let last: Element | null = null;
    const remember = ({ target }: FocusEvent): void => {
      last = target as Element;
    };
    const watch = new MutationObserver(() => {
      if (last === null || document.activeElement !== document.body) return;
      if (last.isConnected && !last.matches(":disabled")) return;
      last = null;
      focusMain();
    });
    // A click elsewhere gives up the focus.
    const forget = (): void => {
      last = null;
    };
    addEventListener("focusin", remember);
    addEventListener("pointerdown", forget);
    const what = {
      subtree: true,
      childList: true,
      attributes: true,
      attributeFilter: ["disabled"],
    };
    watch.observe(document.body, what);
    return () => {
      removeEventListener("focusin", remember);
      removeEventListener("pointerdown", forget);
      watch.disconnect();
    };
  }, []);
}

// A screen that loads does not know it yet.
let hasReports = false;

/** The frame around each screen. */
export function Frame({
  title,
  screen,
  told,
  children,
}: {
  readonly title: string;
  readonly screen: Route["screen"];
  readonly told: LiveData<WireView>;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { link, problem, data } = told;
  if (data !== null) hasReports = data.reports !== null;
  useEffect(() => {
    document.title = `${title} · reporthook`;
  }, [title]);
  return (
    <>
      <a class="unseen" href="#main">
        Skip to content
      </a>
      <header>
        <span class="mark">reporthook</span>
        <nav aria-label="Screens">
          <To route={{ screen: "overview" }} isCurrent={screen === "overview"}>
            Overview
          </To>
          <To route={{ screen: "deliveries", filters: {} }} isCurrent={screen === "deliveries"}>
            Deliveries
          </To>
          {hasReports && (
            <To route={{ screen: "reports", of: "open" }} isCurrent={screen === "reports"}>
              Reports
            </To>
          )}
        </nav>
        <span class={`link is-${link}`} role="status">
          {problem === null || data === null ? links[link] : `${problem.detail} Trying again…`}
        </span>
        <span class="soft">
          {data === null ? "" : data.viewer.name}
          {data?.viewer.may === "view" ? " (view only)" : ""}
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        {problem === null || data !== null ? (
          children
        ) : (
          <div class="empty">
            <h1 class="lead">{problem.title}</h1>
            <p>{problem.detail}</p>
          </div>
        )}
      </main>
    </>
  );
}
