/** An event between the processes on an inbox. */
export type InboxNotice =
  /** The event loop of this process stood still for `ms` milliseconds, and perhaps others have its deliveries. */
  | { readonly what: "stood_still"; readonly ms: number; readonly isHandedOn: boolean }
  /** This process took over the deliveries of another one, which was silent for `silentMs` milliseconds. */
  | {
      readonly what: "took_over";
      readonly deliveries: number;
      /** Its number and its host: `4711 on web-2`. */
      readonly process: string;
      readonly silentMs: number;
    };
