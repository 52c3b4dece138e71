import type { JSX } from "preact";
import { durationText } from "../labels.ts";
import { Moment, Section } from "../parts.tsx";
import type { TimelineStep } from "./timeline.ts";

/** The steps of a delivery or a report, in order. */
export function Way({
  title,
  steps,
}: {
  readonly title: string;
  readonly steps: readonly TimelineStep[];
}): JSX.Element {
  return (
    <Section title={title}>
      <ol class="way">
        {steps.map(({ at, title: step, tone, ms, detail, alike, until }, index) => (
          <li key={index} class={`is-${tone}`}>
            <span class="soft">{at !== null && <Moment at={at} />}</span>
            <div>
              <strong>{step}</strong>
              {ms !== undefined && <span class="soft"> {durationText(ms)}</span>}
              {until !== undefined && (
                <span class="soft">
                  {" "}
                  {alike} alike, until <Moment at={until} />
                </span>
              )}
              {detail && (
                <pre class="error">
                  <bdi>{detail}</bdi>
                </pre>
              )}
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}
