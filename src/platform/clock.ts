// The one source of time. Production reads the system; tests hold a clock they can move, so nothing ever sleeps.

export interface Clock {
  /** The time the service believes in; every row, window and schedule uses it. */
  now(): Date
  /** The machine's own time, compared with the database's to detect skew. */
  machine(): Date
}

export const systemClock: Clock = {
  now: () => new Date(),
  machine: () => new Date(),
}

export interface SteerableClock extends Clock {
  advance(milliseconds: number): void
  set(time: Date): void
  /** Pretends that the machine's clock is off by this much. */
  skew(milliseconds: number): void
}

export function steerableClock(start?: Date): SteerableClock {
  let offset = start ? start.getTime() - Date.now() : 0
  let skewed = 0
  return {
    now: () => new Date(Date.now() + offset),
    machine: () => new Date(Date.now() + skewed),
    advance: milliseconds => void (offset += milliseconds),
    set: time => void (offset = time.getTime() - Date.now()),
    skew: milliseconds => void (skewed = milliseconds),
  }
}
