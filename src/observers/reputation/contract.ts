// How a tenant and its sending domains are seen by receivers.
import { get, key } from '../../platform/http/contract.ts'
import { NamedObject, Nullable, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { standingFields } from './health.ts'

const ReputationRow = NamedObject('ReputationRow', {
  tenant_id: Uuid(),
  domain: Nullable(Type.String({ description: 'From domain; null for the tenant as a whole' })),
  ...standingFields,
})

export const getReputationEndpoint = get('/v1/reputation', {
  summary: 'Rates and health of the last 24 hours, per tenant and per domain that it has or sent from',
  access: key('read'),
  query: Type.Object({ tenant_id: Type.Optional(Uuid({ description: 'Only the rows of this tenant' })) }),
  isLargeRead: true,
  replies: { 200: Type.Object({ rows: Type.Array(ReputationRow) }) },
  refusals: ['not_found'],
})
