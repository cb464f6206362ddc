// The scope table: what each kind of pause is compared with, in TypeScript and in SQL. Both matchers are made from it, and
// `scopes.test.ts` holds them equal.
import { any, sql, type Sql } from '../../platform/db/sql.ts'
import { SCOPE_TYPES, type ScopeType } from './contract.ts'

export interface PauseScope {
  id: string
  scope_type: string
  scope_value: string
  queue_action: 'hold' | 'reject'
  /** The tenant that the scope lies in; null when it spans tenants. */
  tenant_id: string | null
  /** Of the scope, only the mail of that tenant. */
  only_tenant: boolean
}

/** What a pause can be about, of one recipient of one message. */
export interface PauseFacts {
  tenantId: string
  senderDomain: string
  sender: string
  credentialId: string | null
  apiKeyId: string | null
  tags: readonly string[]
  recipientDomain: string
}

export interface ScopeKind {
  type: ScopeType
  /** What values of this kind begin with; only rules have one. */
  prefix?: string
  /** Where the fact stands: in the queue as `q`, or in the message as `m`. */
  table: 'queue' | 'messages'
  /** The values of a recipient; the pause applies when its own is among them. */
  facts: (facts: PauseFacts) => readonly (string | null)[]
  /** The same in SQL, for the values of many pauses. */
  condition: (values: readonly string[]) => Sql
  /** What it compares, as a text of the message: of scopes that several tenants may have. */
  shared?: Sql
  /** How the value of a pause is written to be compared, where it is not as it is. */
  compared?: (value: string) => string
}

/** An account's pauses are only compared with mail of that account: the value says nothing more. */
const NOTHING = ''

/**
 * PostgreSQL looks up a value in a long array by its hash, so that a thousand pauses of a kind cost a row hardly more than
 * one.
 */
const oneOf =
  (column: Sql, type: Sql) =>
  (values: readonly string[]): Sql =>
    sql`${column} = any(${values}::${type})`

const FEW_TAGS = 16

export const SCOPE_KINDS: readonly ScopeKind[] = [
  {
    type: 'account',
    table: 'queue',
    facts: () => [NOTHING],
    condition: () => sql`true`,
    compared: () => NOTHING,
  },
  {
    type: 'tenant',
    table: 'queue',
    facts: ({ tenantId }) => [tenantId],
    condition: oneOf(sql`q.tenant_id`, sql`uuid[]`),
  },
  {
    type: 'domain',
    table: 'messages',
    facts: ({ senderDomain }) => [senderDomain],
    condition: oneOf(sql`m.sender_domain`, sql`text[]`),
    shared: sql`m.sender_domain`,
  },
  {
    // The guardian names a sender as it wrote itself, a person as they please.
    type: 'sender',
    table: 'messages',
    facts: ({ sender }) => [lowerCase(sender)],
    condition: oneOf(sql`lower(m.sender)`, sql`text[]`),
    shared: sql`lower(m.sender)`,
    compared: lowerCase,
  },
  {
    type: 'credential',
    table: 'messages',
    facts: ({ credentialId }) => [credentialId],
    condition: oneOf(sql`m.credential_id`, sql`uuid[]`),
  },
  {
    type: 'api_key',
    table: 'messages',
    facts: ({ apiKeyId }) => [apiKeyId],
    condition: oneOf(sql`m.api_key_id`, sql`uuid[]`),
    shared: sql`m.api_key_id::text`,
  },
  {
    type: 'rule',
    prefix: 'tag:',
    table: 'messages',
    facts: ({ tags }) => tags,
    // `?|` looks for each of the values among the tags: four times as fast for a few, and slow for a thousand.
    condition: values =>
      values.length <= FEW_TAGS
        ? sql`m.tags ?| ${values}::text[]`
        : sql`exists (select from jsonb_array_elements_text(m.tags) as tag where tag = any(${values}::text[]))`,
  },
  {
    type: 'rule',
    prefix: 'recipient_domain:',
    table: 'queue',
    facts: ({ recipientDomain }) => [recipientDomain],
    condition: oneOf(sql`q.recipient_domain`, sql`text[]`),
  },
]

/** Character by character, as PostgreSQL does it: JavaScript would look at the neighbours of a sigma. */
export function lowerCase(text: string): string {
  return Array.from(text, character => String.fromCodePoint(character.toLowerCase().codePointAt(0)!)).join('')
}

export const scopeName = (pause: PauseScope): string => `${pause.scope_type}:${pause.scope_value}`

/** Broadest first: the order in which a hold names its scope. One tenant's share of a scope comes behind the whole. */
export const breadthOf = ({ scope_type, only_tenant }: PauseScope): number =>
  SCOPE_TYPES.indexOf(scope_type as ScopeType) * 2 + (only_tenant ? 1 : 0)

interface FoundKind {
  kind: ScopeKind
  /** As it is compared. */
  value: string
  /** The tenant whose mail alone it stops; null for that of all. */
  onlyTenant: string | null
}

/** What a pause compares; null for a rule that nobody knows. */
export function kindOf({ scope_type: type, scope_value: value, only_tenant, tenant_id }: PauseScope): FoundKind | null {
  const kind = SCOPE_KINDS.find(each => each.type === type && value.startsWith(each.prefix ?? ''))
  if (!kind) return null
  const { prefix = '', compared = text => text } = kind
  return { kind, value: compared(value.slice(prefix.length)), onlyTenant: only_tenant ? tenant_id : null }
}

/** For rows of the queue as `q`: whether one of the pauses applies. The message is looked up once at the most. */
export function matchesAny(pauses: readonly PauseScope[]): Sql {
  const { ofRow, ofMessage } = conditionsOf(pauses)
  const looked = sql`exists (select from messages m where m.id = q.message_id and ${any(ofMessage)})`
  return any(ofMessage.length === 0 ? ofRow : [...ofRow, looked])
}

/** One condition per kind of scope, by the table that it is about. */
export function conditionsOf(pauses: readonly PauseScope[]): { ofRow: Sql[]; ofMessage: Sql[] } {
  const byKind = Map.groupBy(
    pauses.flatMap(pause => kindOf(pause) ?? []),
    found => found.kind,
  )
  const conditionsOn = (table: ScopeKind['table']): Sql[] =>
    SCOPE_KINDS.filter(kind => kind.table === table).flatMap(kind => conditionsOfKind(kind, byKind.get(kind) ?? []))
  return { ofRow: conditionsOn('queue'), ofMessage: conditionsOn('messages') }
}

function conditionsOfKind(kind: ScopeKind, found: readonly FoundKind[]): Sql[] {
  const whole = found.flatMap(({ value, onlyTenant }) => (onlyTenant === null ? value : []))
  const pairs = found.flatMap(({ value, onlyTenant }) => (onlyTenant === null ? [] : `${onlyTenant} ${value}`))
  const conditions = whole.length > 0 ? [kind.condition(whole)] : []
  if (pairs.length > 0) conditions.push(sql`m.tenant_id::text || ' ' || ${kind.shared!} = any(${pairs}::text[])`)
  return conditions
}
