import type { Counts, Entry, EntryDetails, Health, ReasonCode, State } from "@reporthook/core";
import type { CommonError } from "./errors.ts";

// What the page is told, as it arrives there: times are texts.

/** An object of ours after its way through JSON. */
export type Wire<T> = T extends Date
  ? string
  : T extends object
    ? { readonly [K in keyof T]: Wire<T[K]> }
    : T;

/** Who looks, and whether they may do something. */
export interface Viewer {
  readonly name: string;
  readonly may: "view" | "act";
}

/** A delivery in a list. */
export type WireEntry = Wire<Entry>;

/** A delivery in full. */
export interface WireDelivery extends Wire<Omit<EntryDetails, "body">> {
  readonly body: {
    readonly text: string;
    readonly isJson: boolean;
    /** Whether it goes on: `api/deliveries/ID/body` has all of it. */
    readonly isCut: boolean;
  } | null;
}

/** So many characters of a body are shown with its delivery. */
export const maxBodyLength = 65_536;

/** So many deliveries a list begins with, and so many older ones are added at once. */
export const pageLength = 50;
/** Most that one list shows: all of them are looked at each second. */
export const maxListLength = 200;

/** `api/deliveries`; `limit` says how many. */
export interface WireList {
  readonly viewer: Viewer;
  readonly entries: readonly WireEntry[];
  /** Whether there are more. */
  readonly more: boolean;
  /** How many are parked for the reason asked for; 0 when none was. */
  readonly sameReason: number;
}

/** `api/deliveries/ID`. */
export interface WireOne {
  readonly viewer: Viewer;
  /** Null when there is none with this id. */
  readonly delivery: WireDelivery | null;
  /** How many are parked for the same reason. */
  readonly sameReason: number;
}

/** `api/overview`. */
export interface WireOverview {
  readonly viewer: Viewer;
  readonly ready: boolean;
  readonly inbox: Health["inbox"];
  readonly service: Health["service"];
  readonly counts: Counts;
  readonly oldest: Readonly<Record<State, string | null>>;
  readonly parked: Readonly<Partial<Record<ReasonCode, number>>>;
  /** The most frequent error of each reason, among the newest that are parked for it. */
  readonly errors: Readonly<Partial<Record<ReasonCode, CommonError | null>>>;
  /** The newest that are parked, and the oldest of those whose last try failed. */
  readonly stuck: readonly WireEntry[];
  /** The last 60, each with its beginning, those with nothing left out. */
  readonly minutes: readonly {
    readonly at: string;
    readonly counts: Counts;
    readonly ackMs: { readonly p50: number; readonly p99: number };
  }[];
}

/** So many of a reason are discarded at once. */
export const maxDiscarded = 1_000;

/** What an action answers. */
export interface WireDone {
  /** How many were released, discarded or are tried at once. */
  readonly done: number;
}
