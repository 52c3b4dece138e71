/** Options of a receiver in tests of other things: a machine with much else to do is no reason for another answer. */
export const patient = { limits: { ackMs: 60_000, bodyMs: 60_000, verifyMs: 30_000 } } as const;
