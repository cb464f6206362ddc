// The kinds of background worker, declared as data by the features and run by the supervisor. Leased work
// (`leased-worker.ts`) is made of the first two.
import type { Topic } from '../db/wakeups.ts'
import type { Tx } from '../db/database.ts'
import type { World } from '../world.ts'

/** Does something at intervals, whether or not anything happened. */
export interface Periodic {
  kind: 'periodic'
  name: string
  seconds: number
  /** Also in processes without the role `worker`, which could not go on without it. */
  isEverywhere?: true
  run(world: World, signal: AbortSignal): Promise<unknown>
}

/** Takes due work until there is none, then waits for a hint or its next poll. */
export interface Due {
  kind: 'due'
  name: string
  wakeOn: Topic
  pollSeconds: number
  /** Answers how much was done; 0 means there is nothing to do now. */
  run(world: World, signal: AbortSignal): Promise<number>
}

/**
 * Reads the journal exactly once, in order: what it writes and how far it has come are one transaction. It is told which
 * ids are next, not what they say, because it does its work in the database. A migration inserts its cursor: retention deletes
 * no event that some tail has not read.
 */
export interface Tail {
  kind: 'tail'
  name: string
  batchMax: number
  /**
   * How long it leaves the journal alone after a round that was not full, so that more can gather: under load a round
   * costs by what it writes, not by what it reads.
   */
  restMs?(): number
  read(world: World, tx: Tx, range: { after: number; upTo: number }): Promise<void>
  /** Called after each commit: a hint to others must not come before what it is about. */
  committed?(world: World): void
}

export type Worker = Periodic | Due | Tail
