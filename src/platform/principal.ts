// Who is calling, what they may do (scopes) and how far they reach. Every read splices `within(reach)`, so another
// tenant's row is simply not found.
import { all, sql, type Sql } from './db/sql.ts'

export const SCOPES = ['send', 'read', 'feedback', 'suspend', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

export const LEVELS = ['account', 'tenant', 'inbox'] as const
export type Level = (typeof LEVELS)[number]

export interface Reach {
  accountId: string
  /** Null: every tenant of the account. */
  tenantId: string | null
  /** Null: every inbox within the rest of the reach. */
  inboxId: string | null
}

/** What a caller names by its id; found only within the caller's reach. */
export interface Named {
  reach: Reach
  id: string
}

export interface KeyPrincipal {
  kind: 'key'
  keyId: string
  /** The public part of the secret, new with each rotation. */
  prefix: string
  name: string
  level: Level
  scopes: ReadonlySet<Scope>
  reach: Reach
  /** Networks that the key may be used from; empty: anywhere. */
  allowedCidrs: readonly string[]
  /** Null: never. */
  expiresAt: Date | null
}

export interface OperatorPrincipal {
  kind: 'operator'
}

export type Principal = KeyPrincipal | OperatorPrincipal

/** `admin` implies all other scopes. */
export const mayAct = (principal: KeyPrincipal, scope: Scope): boolean =>
  principal.scopes.has('admin') || principal.scopes.has(scope)

interface Columns {
  account?: Sql
  tenant?: Sql
  /** Of rows that belong to an inbox: without it an inbox-scoped key sees those of its whole tenant. */
  inbox?: Sql
}

/** Restricts a statement to what the caller may see. */
export const within = (reach: Reach, columns: Columns = {}): Sql =>
  all([
    sql`${columns.account ?? sql`account_id`} = ${reach.accountId}`,
    reach.tenantId !== null && sql`${columns.tenant ?? sql`tenant_id`} = ${reach.tenantId}`,
    reach.inboxId !== null && columns.inbox !== undefined && sql`${columns.inbox} = ${reach.inboxId}`,
  ])

/** The same for rows of an inbox, by what the statement calls them. */
export const withinInbox = (reach: Reach, row: Sql): Sql =>
  within(reach, { account: sql`${row}.account_id`, tenant: sql`${row}.tenant_id`, inbox: sql`${row}.inbox_id` })

/** Of a tenant that the caller asks for; null leaves it open. */
export const ofTenant = (tenantId: string | null): Sql | false => tenantId !== null && sql`tenant_id = ${tenantId}`
