// All SQL over correspondents; the only writer of that table.
import type { Db, Tx } from '../../platform/db/database.ts'
import { bareArray, prepared } from '../../platform/db/sql.ts'

/** Travels with the commit. */
export const insertCorrespondents = (tx: Tx, rows: readonly { inboxId: string; domain: string }[]): void =>
  tx.send(prepared`
    insert into correspondents (inbox_id, domain, first_sent_at)
    select inbox_id, domain, ${tx.now} from unnest(${bareArray(rows.map(each => each.inboxId))}::uuid[],
      ${rows.map(each => each.domain)}::text[]) as added (inbox_id, domain)
    on conflict do nothing`)

/** Each is compared with every mail that comes in. */
const COMPARED_MAX = 500

export const listCorrespondents = (db: Db, inboxIds: readonly string[]) =>
  db.many<{ inbox_id: string; domains: string[] }>(prepared`
    select inbox.id as inbox_id, c.domains
    from unnest(${bareArray(inboxIds)}::uuid[]) as inbox (id) cross join lateral (
      select array_agg(latest.domain) as domains from (
        select domain from correspondents where inbox_id = inbox.id order by first_sent_at desc limit ${COMPARED_MAX}
      ) latest
    ) c
    where c.domains is not null`)
