// Suppression lists and complaints.
import type { Static } from 'typebox'
import { del, get, key, post } from '../../platform/http/contract.ts'
import { DateTime, Int64, Limit, NamedObject, Nullable, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const REASONS = ['hard_bounce', 'complaint', 'unsubscribe', 'manual'] as const

export const SuppressionEntry = NamedObject('SuppressionEntry', {
  id: Uuid(),
  tenant_id: Nullable(Uuid({ description: 'Null: every tenant of the account' })),
  address: Type.String(),
  reason: Nullable(Type.Enum([...REASONS])),
  detail: Nullable(Type.String()),
  created_at: DateTime(),
})
export type SuppressionEntry = Static<typeof SuppressionEntry>

const SuppressionAdd = NamedObject('SuppressionAdd', {
  address: Type.String({ format: 'email', maxLength: 320 }),
  tenant_id: Type.Optional(Nullable(Uuid())),
  reason: Type.Optional(Type.Enum([...REASONS])),
  detail: Type.Optional(Nullable(Type.String({ maxLength: 1000 }))),
})
export type SuppressionAdd = Static<typeof SuppressionAdd>

const ComplaintReport = NamedObject('ComplaintReport', {
  message_id: Uuid(),
  recipient: Type.String({ minLength: 1, maxLength: 320 }),
  detail: Type.Optional(Type.String({ maxLength: 1000 })),
})
export type ComplaintReport = Static<typeof ComplaintReport>

export const listSuppressionsEndpoint = get('/v1/suppressions', {
  summary: 'List suppressed addresses, newest first',
  access: key('read'),
  query: Type.Object({
    tenant_id: Type.Optional(Uuid()),
    reason: Type.Optional(Type.Enum([...REASONS])),
    q: Type.Optional(Type.String({ minLength: 1, maxLength: 320, description: 'Part of the address' })),
    limit: Limit,
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 })),
  }),
  replies: { 200: Type.Object({ entries: Type.Array(SuppressionEntry), total: Int64() }) },
  refusals: ['not_found'],
})

export const addSuppressionEndpoint = post('/v1/suppressions', {
  summary: 'Suppress an address, for one tenant or for the whole account; one that is listed already stays as it is',
  access: key('feedback'),
  body: SuppressionAdd,
  replies: { 201: SuppressionEntry },
  refusals: ['not_found'],
  audit: 'suppression.create',
})

export const deleteSuppressionEndpoint = del('/v1/suppressions/{id}', {
  summary: 'Take an address off the list',
  access: key('admin'),
  replies: { 204: null },
  audit: 'suppression.delete',
})

export const complainEndpoint = post('/v1/complaints', {
  summary:
    'Report that a recipient complained: suppressed across all tenants, or for one tenant if nothing was delivered',
  access: key('feedback'),
  body: ComplaintReport,
  replies: {
    200: Type.Object({
      message_id: Uuid(),
      recipient: Type.String(),
      complained: Type.Boolean({ description: 'False when the delivery could not become complained, or was already' }),
      suppressed: Type.Literal(true, {
        description:
          "Across all tenants of the account; a tenant's key that reports on what was not delivered: for it alone",
      }),
    }),
  },
  refusals: ['not_found', 'unavailable'],
  audit: 'complaint.report',
})
