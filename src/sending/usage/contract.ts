// What a tenant has used of its quotas and rates.
import { get, key } from '../../platform/http/contract.ts'
import { DateTime, Int64, NamedObject, Nullable, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const Window = NamedObject('UsageWindow', {
  used: Int64({ description: 'Recipients accepted in the running window' }),
  limit: Nullable(Int64({ description: 'Null is unlimited' })),
  remaining: Nullable(Int64()),
  resets_at: DateTime(),
})

const Usage = NamedObject('Usage', {
  tenant_id: Uuid(),
  effective_rate_per_minute: Nullable(
    Int64({ description: "The lower of the tenant's own rate and the guardian's throttle; null is unlimited" }),
  ),
  minute: Window,
  hour: Window,
  day: Window,
  month: Window,
  history: Type.Array(Type.Object({ date: Type.String({ format: 'date' }), recipients: Int64(), messages: Int64() }), {
    description: 'One row per UTC day, newest first, days without mail included',
  }),
})

export const getUsageEndpoint = get('/v1/tenants/{id}/usage', {
  summary: 'Usage against quota and rate, with daily history',
  access: key('read'),
  query: Type.Object({ days: Type.Optional(Type.Integer({ minimum: 1, maximum: 400, default: 30 })) }),
  isLargeRead: true,
  replies: { 200: Usage },
})
