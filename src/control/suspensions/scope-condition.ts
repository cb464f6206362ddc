// Which rows of the queue pauses match, as a condition in SQL: what `applies` in control/suspensions says, for many pauses at
// once.
import type { PauseScope } from './match.ts'
import { any, sql, type Sql } from '../../platform/db/sql.ts'

const TAG = 'tag:'
const RECIPIENT_DOMAIN = 'recipient_domain:'

/**
 * For rows of `q`. One comparison per kind of scope, with all values of that kind: PostgreSQL looks up a value in a long
 * array by its hash, so that a thousand pauses cost a row hardly more than one. The message is looked up once at the most.
 */
export function matchesAny(pauses: readonly PauseScope[]): Sql {
  if (pauses.some(pause => pause.scope_type === 'account')) return sql`true`
  const valuesOf = (type: string): string[] =>
    pauses.filter(pause => pause.scope_type === type).map(pause => pause.scope_value)
  const rules = valuesOf('rule')
  const domains = rules
    .filter(rule => rule.startsWith(RECIPIENT_DOMAIN))
    .map(rule => rule.slice(RECIPIENT_DOMAIN.length))
  const tags = rules.filter(rule => rule.startsWith(TAG)).map(rule => rule.slice(TAG.length))
  const senders = valuesOf('sender').map(sender => sender.toLowerCase())
  const ofMessage = [
    oneOf(sql`m.sender_domain`, valuesOf('domain'), sql`text[]`),
    oneOf(sql`lower(m.sender)`, senders, sql`text[]`),
    oneOf(sql`m.credential_id`, valuesOf('credential'), sql`uuid[]`),
    oneOf(sql`m.api_key_id`, valuesOf('api_key'), sql`uuid[]`),
    // Not `?|`, which would look for each of the values among the tags.
    tags.length === 0
      ? null
      : sql`exists (select from jsonb_array_elements_text(m.tags) as tag where ${oneOf(sql`tag`, tags, sql`text[]`)!})`,
  ].filter(condition => condition !== null)
  const conditions = [
    oneOf(sql`q.tenant_id`, valuesOf('tenant'), sql`uuid[]`),
    oneOf(sql`q.recipient_domain`, domains, sql`text[]`),
    ofMessage.length === 0
      ? null
      : sql`exists (select from messages m where m.id = q.message_id and ${any(ofMessage)})`,
  ].filter(condition => condition !== null)
  return any(conditions)
}

const oneOf = (column: Sql, values: readonly string[], type: Sql): Sql | null =>
  values.length === 0 ? null : sql`${column} = any(${values}::${type})`
