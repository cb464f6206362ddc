// Sealing the targets that earlier versions stored in clear, in bounded batches.
import { system } from '../../platform/db/actor.ts'
import { inBatches } from '../../platform/work/in-batches.ts'
import type { World } from '../../platform/world.ts'
import { lockClearTargets, updateSealedTargets } from './queries.ts'
import { sealTarget } from './target.ts'

const BATCH = 200
const by = system('alert-targets')

/** Answers how many there were. */
export const sealClearTargets = ({ db, secrets }: World, signal: AbortSignal): Promise<number> =>
  inBatches(signal, BATCH, () =>
    db.transact(by, async tx => {
      const rows = await lockClearTargets(tx, BATCH)
      if (rows.length === 0) return 0
      return updateSealedTargets(
        tx,
        rows.map(({ id, target }) => ({ id, sealed: sealTarget(secrets, id, target) })),
      )
    }),
  )
