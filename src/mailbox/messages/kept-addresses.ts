// How many addresses of a field are kept with a message. Its source has them all.

/** To so many people our own mail is answered by itself. */
export const OWN_ANSWERED_MAX = 1_000
/** With one more it is seen that there are too many to answer. */
export const ADDRESSES_KEPT_MAX = OWN_ANSWERED_MAX + 1
