// Whom an inbox has written to. A sender that looks like one of them and is not pretends to be it.
import { organisationOf } from '../../mail/address/organisation.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { FREE_MAIL } from './brands.ts'
import { insertCorrespondents, listCorrespondents } from './correspondent-queries.ts'

/** Of one mail: a letter to ten thousand is no correspondence. */
const DOMAINS_MAX = 20

export interface Written {
  inboxId: string
  /** Of the recipients. */
  domains: readonly string[]
}

/** With the mail, in its transaction. Everybody has a free mailbox somewhere: those domains say nothing. */
export function addCorrespondents(tx: Tx, written: readonly Written[]): void {
  const rows = new Map<string, { inboxId: string; domain: string }>()
  for (const { inboxId, domains } of written) {
    for (const domain of new Set(domains.slice(0, DOMAINS_MAX).map(organisationOf))) {
      if (!FREE_MAIL.has(domain)) rows.set(`${inboxId} ${domain}`, { inboxId, domain })
    }
  }
  if (rows.size > 0) insertCorrespondents(tx, [...rows.values()])
}

/** The domains that each of these inboxes has written to; the latest, where there are many. */
export async function findCorrespondents(db: Db, inboxIds: readonly string[]): Promise<ReadonlyMap<string, string[]>> {
  const rows = await listCorrespondents(db, inboxIds)
  return new Map(rows.map(({ inbox_id, domains }) => [inbox_id, domains]))
}
