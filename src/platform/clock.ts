// The one source of time: the machine's clock, set right by the database's, so that processes on several machines agree on
// leases, windows and schedules. Tests have a clock they can move, so nothing ever sleeps.

export interface Clock {
  /** The time the service believes in; every row, window and schedule uses it. */
  now(): Date
  /** The machine's own time, compared with the database's to detect skew. */
  machine(): Date
  /** Told how far the database's clock is ahead of the machine's, and how far that may be wrong. */
  follow(skew: Skew): void
}

export interface Skew {
  aheadMs: number
  /** Half the time that the question took. */
  uncertainMs: number
}

/** Less is not worth a step. */
const STEP_MS_MIN = 50

export function systemClock(machineMs: () => number = Date.now): Clock {
  let offset = 0
  return {
    now: () => new Date(machineMs() + offset),
    machine: () => new Date(machineMs()),
    follow: skew => void (offset = followed(offset, skew)),
  }
}

/** A clock that is right stays as it is: following every measurement would make it tremble. */
const followed = (offset: number, { aheadMs, uncertainMs }: Skew): number =>
  Math.abs(aheadMs - offset) < STEP_MS_MIN + uncertainMs ? offset : Math.round(aheadMs)
