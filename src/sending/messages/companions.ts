// Rows of other doors that are stored with the submissions of a batch: locked before anything is decided, asked whether the
// submission may go, and written in the same transaction.
import type { Tx } from '../../platform/db/database.ts'
import type { Companion, CompanionKeeper, LockedCompanions, StoredCompanion, Submission } from './submission.ts'

export class CompanionsOfBatch {
  readonly #locked: ReadonlyMap<CompanionKeeper, LockedCompanions>

  private constructor(locked: ReadonlyMap<CompanionKeeper, LockedCompanions>) {
    this.#locked = locked
  }

  static async lock(tx: Tx, submissions: readonly Submission[], waits: boolean): Promise<CompanionsOfBatch> {
    const companions = submissions.flatMap(({ companion }) => companion ?? [])
    const locked = new Map<CompanionKeeper, LockedCompanions>()
    for (const keeper of new Set(companions.map(each => each.keeper))) {
      const own = companions.filter(each => each.keeper === keeper)
      locked.set(keeper, await keeper.lock(tx, own, { waits }))
    }
    return new CompanionsOfBatch(locked)
  }

  isLocked({ companion }: Submission): boolean {
    return !companion || this.#locked.get(companion.keeper)!.isLocked(companion)
  }

  admit(companion: Companion): ReturnType<LockedCompanions['admit']> {
    return this.#locked.get(companion.keeper)!.admit(companion)
  }

  async store(tx: Tx, stored: readonly StoredCompanion[]): Promise<void> {
    for (const [keeper, locked] of this.#locked) {
      const own = stored.filter(({ companion }) => companion.keeper === keeper)
      if (own.length > 0) await locked.store(tx, own)
    }
  }
}
