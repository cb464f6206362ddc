// The scope table: what each kind of pause is compared with, in TypeScript and in SQL. Both matchers are made from it, and
// `scopes.test.ts` holds them equal.
import { any, sql, type Sql } from '../../platform/db/sql.ts'
import { SCOPE_TYPES, type ScopeType } from './contract.ts'

export interface PauseScope {
  id: string
  scope_type: string
  scope_value: string
  queue_action: 'hold' | 'reject'
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
  prefix: string
  /** Where the fact stands: in the queue as `q`, or in the message as `m`. */
  table: 'queue' | 'messages'
  /** The values of a recipient; the pause applies when its own is among them. */
  facts: (facts: PauseFacts) => readonly (string | null)[]
  /** The same in SQL, for the values of many pauses. */
  condition: (values: readonly string[]) => Sql
  /** How the value of a pause is written to be compared. */
  compared: (value: string) => string
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

const same = (value: string): string => value

export const SCOPE_KINDS: readonly ScopeKind[] = [
  {
    type: 'account',
    prefix: '',
    table: 'queue',
    facts: () => [NOTHING],
    condition: () => sql`true`,
    compared: () => NOTHING,
  },
  {
    type: 'tenant',
    prefix: '',
    table: 'queue',
    facts: ({ tenantId }) => [tenantId],
    condition: oneOf(sql`q.tenant_id`, sql`uuid[]`),
    compared: same,
  },
  {
    type: 'domain',
    prefix: '',
    table: 'messages',
    facts: ({ senderDomain }) => [senderDomain],
    condition: oneOf(sql`m.sender_domain`, sql`text[]`),
    compared: same,
  },
  {
    // The guardian names a sender as it wrote itself, a person as they please.
    type: 'sender',
    prefix: '',
    table: 'messages',
    facts: ({ sender }) => [lowerCase(sender)],
    condition: oneOf(sql`lower(m.sender)`, sql`text[]`),
    compared: lowerCase,
  },
  {
    type: 'credential',
    prefix: '',
    table: 'messages',
    facts: ({ credentialId }) => [credentialId],
    condition: oneOf(sql`m.credential_id`, sql`uuid[]`),
    compared: same,
  },
  {
    type: 'api_key',
    prefix: '',
    table: 'messages',
    facts: ({ apiKeyId }) => [apiKeyId],
    condition: oneOf(sql`m.api_key_id`, sql`uuid[]`),
    compared: same,
  },
  {
    type: 'rule',
    prefix: 'tag:',
    table: 'messages',
    facts: ({ tags }) => tags,
    // Not `?|`, which would look for each of the values among the tags.
    condition: values =>
      sql`exists (select from jsonb_array_elements_text(m.tags) as tag where tag = any(${values}::text[]))`,
    compared: same,
  },
  {
    type: 'rule',
    prefix: 'recipient_domain:',
    table: 'queue',
    facts: ({ recipientDomain }) => [recipientDomain],
    condition: oneOf(sql`q.recipient_domain`, sql`text[]`),
    compared: same,
  },
]

/** Character by character, as PostgreSQL does it: JavaScript would look at the neighbours of a sigma. */
export function lowerCase(text: string): string {
  return Array.from(text, character => String.fromCodePoint(character.toLowerCase().codePointAt(0)!)).join('')
}

export const scopeName = (pause: PauseScope): string => `${pause.scope_type}:${pause.scope_value}`

/** Broadest first: the order in which a hold names its scope. */
export const breadthOf = (pause: PauseScope): number => SCOPE_TYPES.indexOf(pause.scope_type as ScopeType)

/** The kind of a pause and the value that it compares; null for a rule that nobody knows. */
export function kindOf({
  scope_type: type,
  scope_value: value,
}: PauseScope): { kind: ScopeKind; value: string } | null {
  const kind = SCOPE_KINDS.find(each => each.type === type && value.startsWith(each.prefix))
  return kind ? { kind, value: kind.compared(value.slice(kind.prefix.length)) } : null
}

export function applies(pause: PauseScope, facts: PauseFacts): boolean {
  const found = kindOf(pause)
  return found !== null && found.kind.facts(facts).includes(found.value)
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
    SCOPE_KINDS.filter(kind => kind.table === table).flatMap(kind => {
      const values = byKind.get(kind)?.map(found => found.value)
      return values ? kind.condition(values) : []
    })
  return { ofRow: conditionsOn('queue'), ofMessage: conditionsOn('messages') }
}
