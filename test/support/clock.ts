// A clock that tests can move, so that nothing ever sleeps.
import { systemClock, type Clock } from '../../src/platform/clock.ts'

export interface SteerableClock extends Clock {
  advance(milliseconds: number): void
  set(time: Date): void
  /** Pretends that the machine's clock is off by this much. */
  skew(milliseconds: number): void
}

export function steerableClock(start?: Date): SteerableClock {
  let steered = start ? start.getTime() - Date.now() : 0
  let skewed = 0
  const clock = systemClock(() => Date.now() + skewed)
  return {
    ...clock,
    now: () => new Date(clock.now().getTime() + steered),
    advance: milliseconds => void (steered += milliseconds),
    set: time => void (steered = time.getTime() - Date.now()),
    skew: milliseconds => void (skewed = milliseconds),
  }
}
