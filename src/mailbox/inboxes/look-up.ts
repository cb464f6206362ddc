// Finding inboxes that many requests ask for at once: they share one statement, as the look-up of keys does.
import { Batcher } from '../../platform/batcher.ts'
import type { Reach } from '../../platform/principal.ts'
import { notFound } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { listInboxesByIdAnywhere, type StoredInbox } from './queries.ts'

export type FindInbox = (reach: Reach, id: string) => Promise<StoredInbox>

/** 404 when it is not within the caller's reach, whether it exists or not. */
export function inboxLookUp(world: World): FindInbox {
  const batcher = new Batcher<string, StoredInbox | null>({
    run: async ids => {
      const rows = new Map((await listInboxesByIdAnywhere(world.db, [...new Set(ids)])).map(row => [row.id, row]))
      return ids.map(id => rows.get(id) ?? null)
    },
    itemsMax: 200,
    slots: 2,
  })
  return async (reach, id) => {
    const inbox = await batcher.submit(id.toLowerCase())
    if (!inbox || !isWithin(inbox, reach)) throw notFound('inbox')
    return inbox
  }
}

const isWithin = (inbox: StoredInbox, reach: Reach): boolean =>
  inbox.account_id === reach.accountId &&
  (reach.tenantId === null || inbox.tenant_id === reach.tenantId) &&
  (reach.inboxId === null || inbox.id === reach.inboxId)
