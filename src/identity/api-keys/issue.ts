// Minting a key inside somebody's transaction: also used where an account gets its first one.
import type { Tx } from '../../platform/db/database.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../platform/principal.ts'
import { mintApiKey } from '../../platform/secrets.ts'
import { insertKey, type NewKey } from './queries.ts'

export async function issueKey(tx: Tx, order: Omit<NewKey, 'id' | 'prefix' | 'secretHash'> & { scopes: Scope[] }) {
  const { prefix, bearer, secretHash } = mintApiKey()
  const scopes = [...new Set(order.scopes)]
  const key = await insertKey(tx, { ...order, id: newId(tx.now), prefix, secretHash, scopes })
  return { ...key, secret: bearer }
}
