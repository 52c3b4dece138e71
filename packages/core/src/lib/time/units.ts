/** Milliseconds in a minute. */
export const minuteMs = 60_000;
/** Milliseconds in an hour. */
export const hourMs = 3_600_000;
/** Milliseconds in a day. */
export const dayMs = 86_400_000;
