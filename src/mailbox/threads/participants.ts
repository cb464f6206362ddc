// Who takes part in a thread.

/** At the most: a mail to a thousand would otherwise be carried along for ever. Those named first stand for all. */
export const PARTICIPANTS_MAX = 100
