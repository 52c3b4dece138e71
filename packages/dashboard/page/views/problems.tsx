import type { JSX } from "preact";
import type { WireOverview } from "../../src/deliveries/wire.ts";
import { Ago, Copy, Moment, To } from "../parts.tsx";

/** The list of problems, worst first, each with its command to copy. */
export function Problems({ problems }: Pick<WireOverview, "problems">): JSX.Element | null {
  if (problems.length === 0) return null;
  return (
    <section aria-labelledby="problems">
      <h2 id="problems">What is wrong</h2>
      <ul class="problems">
        {problems.map(({ code, reason, severity, since, text, command }) => (
          <li key={`${code} ${reason}`} class={`is-${severity}`}>
            <p>
              <strong>{severity}</strong> <code class="code">{code}</code>
              {reason !== null && <code class="code"> {reason}</code>} since <Moment at={since} /> (
              <Ago at={since} />)
            </p>
            <p>
              <bdi>{text}</bdi>{" "}
              {code === "overdue" && (
                <To route={{ screen: "reports", of: "overdue" }}>See the overdue reports</To>
              )}
            </p>
            {command !== null && (
              <p class="command">
                <code>{command}</code> <Copy text={command}>Copy the command</Copy>
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The processes on the inbox. */
export function Processes({ processes }: Pick<WireOverview, "processes">): JSX.Element | null {
  if (processes.length === 0) return null;
  return (
    <section aria-labelledby="processes">
      <h2 id="processes">Processes</h2>
      <ul class="processes">
        {processes.map(({ host, pid, version, since, state }) => (
          <li key={`${host} ${pid} ${since}`}>
            <bdi>
              {pid} on {host}
            </bdi>{" "}
            version {version}, since <Moment at={since} />
            {state !== "running" && <strong> {state}</strong>}
          </li>
        ))}
      </ul>
    </section>
  );
}
