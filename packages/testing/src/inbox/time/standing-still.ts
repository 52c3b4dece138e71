import type { Inbox, InboxNotice } from "@reporthook/core";
import { LivedClock, systemClock } from "@reporthook/core/store";
import { same, truly } from "../../assert.ts";
import { type InboxCase, valid } from "../fixture.ts";
import type { StandstillReport } from "./standing-process.ts";

const pauseMs = 5;
const concurrency = 3;

/**
 * Works as the other process: begins a delivery of receiver `a`, calls `onBegun`, and blocks its event loop until `isOver()`.
 * Resolves once the inbox has noticed that, and is closed.
 *
 * @example
 * const isOver = () => Date.now() > 1_900_000_000_000;
 * const report = await standStillOn(inbox, () => console.log("begun"), isOver);
 */
export async function standStillOn(
  inbox: Inbox,
  onBegun: () => void,
  isOver: () => boolean,
): Promise<StandstillReport> {
  const began: string[] = [];
  const notices: InboxNotice[] = [];
  let errors = 0;
  const word = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  await new Promise<void>((resolve) => {
    const work = async ({ id }: { readonly id: string }): Promise<typeof valid> => {
      began.push(id);
      if (began.length === 1) onBegun();
      while (!isOver()) Atomics.wait(word, 0, 0, pauseMs);
      return valid;
    };
    inbox.consume("verify", work, {
      receiver: "a",
      concurrency,
      clock: new LivedClock(systemClock),
      onError: () => void errors++,
      onNotice(notice) {
        notices.push(notice);
        if (notice.what === "stood_still") resolve();
      },
    });
  });
  await inbox.close();
  return { began, notices, errors };
}

/** The promises about a process whose event loop stands still. */
export const standingStill: readonly InboxCase[] = [
  {
    name: "a process whose event loop stands still hands its deliveries on to another process, which runs each once, and both say so",
    needs: ["process"],
    async run({ put, consume, until, patiently, standStill }) {
      const ids = [await put(), await put(), await put()];
      const standing = await patiently(standStill(), "the other process to stand still");
      const { jobs, recorded, notices } = consume("verify", valid, { concurrency });
      await until(() => recorded.length >= ids.length, "it takes over");
      const { began, errors, ...other } = await patiently(standing.goOn(), "the other to go on");
      same(jobs.map(({ id }) => id).sort(), ids.sort(), "What this process ran");
      same(began.length, 1, "The number of those that the other one ran");
      same(errors, 0, "The errors of the other one");
      const told = other.notices.filter((notice) => notice.what === "stood_still");
      same(told.length, 1, "How often the other one says that it stood still");
      truly(told[0]?.isHandedOn === true, "it says that its deliveries were handed on");
      const taken = notices.filter((notice) => notice.what === "took_over");
      const sum = taken.reduce((all, { deliveries }) => all + deliveries, 0);
      // A job that the other one had not yet fetched is none of them.
      truly(sum >= 1 && sum <= ids.length, `${sum} is how many this process has taken over`);
      for (const { process } of taken) truly(/^\d+ on ./.test(process), `${process} is a name`);
    },
  },
];
