// The one write to keys that is not somebody's act.
import type { Tx } from '../../platform/db/database.ts'
import { updateKeysLastUsed } from './queries.ts'

export const updateLastUsed = (tx: Tx, uses: { keyId: string; at: Date }[]): Promise<number> =>
  updateKeysLastUsed(tx, uses)
