// The audit log and its verification.
import type { Static } from 'typebox'
import { get, key, operator } from '../../platform/http/contract.ts'
import { BeforeId, DateTime, Int64, Limit, Name, NamedObject, Nullable, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const Hash = (options: object = {}) => Type.String({ pattern: '^[0-9a-f]{64}$', ...options })
const Json = Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'] })

export const AuditEntry = NamedObject('AuditEntry', {
  id: Int64({ description: 'Without gaps over the whole installation' }),
  account_id: Nullable(Uuid()),
  tenant_id: Nullable(Uuid()),
  actor: Type.Object({ type: Type.String(), id: Nullable(Type.String()), name: Type.String() }),
  ip: Nullable(Type.String()),
  action: Type.String(),
  target: Type.Object({ type: Type.String(), id: Type.String() }),
  before: Json,
  after: Json,
  request_id: Nullable(Type.String()),
  created_at: DateTime(),
  prev_hash: Hash({ description: 'Hash of the entry before' }),
  hash: Hash(),
})
export type AuditEntry = Static<typeof AuditEntry>

export const listAuditEndpoint = get('/v1/audit', {
  summary: 'List audit entries, newest first',
  access: key('admin'),
  query: Type.Object({ action: Type.Optional(Name(100)), before_id: BeforeId, limit: Limit }),
  replies: {
    200: Type.Object({ entries: Type.Array(AuditEntry), next_before_id: Nullable(Int64()) }),
  },
})

export const verifyAuditEndpoint = get('/admin/v1/audit/verify', {
  summary: 'Check the whole audit log, up to the newest entry at the time of the call',
  access: operator,
  replies: {
    200: Type.Object({
      intact: Type.Boolean(),
      entries: Int64({ description: 'Entries that were found in order' }),
      broken_at_id: Type.Optional(Int64({ description: 'The first entry that is changed, missing or forged' })),
      reason: Type.Optional(Type.String()),
      outside_heads: Type.Enum(['checked', 'unavailable'], {
        description:
          'Whether the chain was compared with the signed heads outside the database, in `audit-heads.jsonl` of the ' +
          'node that answers. Without them a log that was cut off at its end and sealed afresh is not noticed: ask a ' +
          'node that has them.',
      }),
      outside_head_id: Type.Optional(
        Int64({
          description: 'The newest entry that a head written before this call vouches for; absent when there is none',
        }),
      ),
    }),
  },
})
