// The pauses in force, read inside somebody's transaction.
import type { Db } from '../../platform/db/database.ts'
import { PauseIndex } from './pause-index.ts'
import { listActiveOfAccounts, type ActiveSuspension } from './queries.ts'

export type { ActiveSuspension } from './queries.ts'

/** By account. An account without pauses has no entry. */
export async function activePauses(db: Db, accountIds: readonly string[]): Promise<Map<string, ActiveSuspension[]>> {
  const pauses = await listActiveOfAccounts(db, accountIds)
  return Map.groupBy(pauses, pause => pause.account_id)
}

/** The pauses of the accounts of a batch, each account's indexed once. */
export class PausesByAccount {
  readonly #pauses: ReadonlyMap<string, readonly ActiveSuspension[]>
  readonly #all = new Map<string, PauseIndex<ActiveSuspension>>()
  readonly #rejecting = new Map<string, PauseIndex<ActiveSuspension>>()

  constructor(pauses: ReadonlyMap<string, readonly ActiveSuspension[]>) {
    this.#pauses = pauses
  }

  /** Null when the account has none, which is the common case. */
  of(accountId: string): PauseIndex<ActiveSuspension> | null {
    return this.#index(this.#all, accountId, () => true)
  }

  rejectingOf(accountId: string): PauseIndex<ActiveSuspension> | null {
    return this.#index(this.#rejecting, accountId, pause => pause.queue_action === 'reject')
  }

  #index(
    indexes: Map<string, PauseIndex<ActiveSuspension>>,
    accountId: string,
    isWanted: (pause: ActiveSuspension) => boolean,
  ): PauseIndex<ActiveSuspension> | null {
    const known = indexes.get(accountId)
    if (known) return known
    const pauses = this.#pauses.get(accountId)?.filter(isWanted) ?? []
    if (pauses.length === 0) return null
    const index = new PauseIndex(pauses)
    indexes.set(accountId, index)
    return index
  }
}
