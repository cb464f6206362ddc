// All SQL over accounts; the only writer of that table.
import type { Db, Reads, Tx } from '../../platform/db/database.ts'
import { sql } from '../../platform/db/sql.ts'
import { withTimesAsText, type RowOf } from '../../platform/db/times.ts'
import { type Keyset, newestFirst } from '../../platform/http/paging.ts'
import { missing } from '../../platform/refusal.ts'
import type { Account } from './contract.ts'

type Row = RowOf<Account, 'created_at'>

const columns = sql`id, name, account_status(id) as status, data_region, suspend_mode, hold_ttl_seconds, body_retention_days,
  metadata_retention_days, hide_suppression_reason, require_outbound_tls, legal_hold, approval_links, sandbox, tier,
  ai_enabled, ai_monthly_token_cap, webhooks_max, created_at`

export async function insertAccount(tx: Tx, account: Pick<Account, 'id' | 'name' | 'data_region' | 'sandbox'>) {
  const row = await tx.one<Row>(sql`
    insert into accounts (id, name, data_region, sandbox, created_at)
    values (${account.id}, ${account.name}, ${account.data_region}, ${account.sandbox}, ${tx.now})
    returning ${columns}`)
  return withTimesAsText(row)
}

export async function updateAccountRow(tx: Tx, account: Account): Promise<void> {
  await tx.run(sql`
    update accounts set name = ${account.name}, suspend_mode = ${account.suspend_mode},
      hold_ttl_seconds = ${account.hold_ttl_seconds}, body_retention_days = ${account.body_retention_days},
      metadata_retention_days = ${account.metadata_retention_days},
      hide_suppression_reason = ${account.hide_suppression_reason},
      require_outbound_tls = ${account.require_outbound_tls}, legal_hold = ${account.legal_hold},
      approval_links = ${account.approval_links},
      sandbox = ${account.sandbox}, tier = ${account.tier}, ai_enabled = ${account.ai_enabled},
      ai_monthly_token_cap = ${account.ai_monthly_token_cap}, webhooks_max = ${account.webhooks_max}
    where id = ${account.id}`)
}

export async function findAccountAnywhere(db: Db, id: string): Promise<Account | null> {
  const row = await db.maybe<Row>(sql`select ${columns} from accounts where id = ${id}`)
  return row && withTimesAsText(row)
}

export const requireAccountAnywhere = async (db: Db, id: string): Promise<Account> =>
  (await findAccountAnywhere(db, id)) ?? missing('account')

/** In the UTC month of that time. */
export const findAiTokensUsed = async (db: Db, id: string, now: Date): Promise<number> =>
  (await db.maybeValue<number>(sql`
    select used from ai_token_months
    where account_id = ${id} and month = ${`${now.toISOString().slice(0, 7)}-01`}`)) ?? 0

export async function requireAccountForUpdate(tx: Tx, id: string): Promise<Account> {
  const row = await tx.maybe<Row>(sql`select ${columns} from accounts where id = ${id} for update`)
  return withTimesAsText(row ?? missing('account'))
}

export async function listAccountsAnywhere(db: Reads, page: Keyset<string>): Promise<Account[]> {
  const rows = await db.many<Row>(sql`select ${columns} from accounts ${newestFirst([], page)}`)
  return rows.map(withTimesAsText)
}
