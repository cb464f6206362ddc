// The one write to keys that is not somebody's act.
import type { Tx } from '../../platform/db/database.ts'
import type { Use } from '../../platform/last-use.ts'
import { updateKeysLastUsed } from './queries.ts'

export const updateLastUsed = (tx: Tx, uses: Use[]): Promise<number> => updateKeysLastUsed(tx, uses)
