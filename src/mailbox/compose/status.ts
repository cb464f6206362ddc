// What becomes of a mail at its acceptance, in one word.

/** At acceptance: every recipient may be held by a pause, or suppressed. */
export const statusOf = ({ queued, held }: { queued: number; held: number }): 'queued' | 'held' | 'suppressed' =>
  queued > 0 ? 'queued' : held > 0 ? 'held' : 'suppressed'
