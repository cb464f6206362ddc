// Tenants: the customers of an account.
import type { Static } from 'typebox'
import { get, key, patch, post } from '../../platform/http/contract.ts'
import {
  component,
  DateTime,
  Int64,
  Name,
  NamedObject,
  Nullable,
  Page,
  PageQuery,
  Uuid,
} from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const RecipientsMax = (options: object = {}) => Type.Integer({ minimum: 1, maximum: 2_147_483_647, ...options })

const limits = {
  quota_daily: Nullable(Int64({ description: 'Recipients per UTC day; null is unlimited' })),
  quota_monthly: Nullable(Int64({ description: 'Recipients per UTC month; null is unlimited' })),
  rate_per_minute: Nullable(Int64({ description: 'Recipients per minute; null is unlimited' })),
  rate_per_hour: Nullable(Int64({ description: 'Recipients per hour; null is unlimited' })),
}

export const Tenant = NamedObject('Tenant', {
  id: Uuid(),
  external_id: Type.String({ description: "The caller's own id of this customer" }),
  name: Type.String(),
  status: Type.Enum(['active', 'disabled']),
  ...limits,
  max_recipients_per_message: RecipientsMax(),
  effective_rate_per_minute: Nullable(
    Int64({ description: "The lower of the tenant's own rate and the guardian's throttle; null is unlimited" }),
  ),
  created_at: DateTime(),
})
export type Tenant = Static<typeof Tenant>

const TenantCreate = NamedObject('TenantCreate', {
  external_id: Name(255),
  name: Name(255),
  ...Type.Partial(Type.Object(limits)).properties,
  max_recipients_per_message: Type.Optional(RecipientsMax()),
})
export type TenantCreate = Static<typeof TenantCreate>

const TenantUpdate = component(
  'TenantUpdate',
  Type.Partial(
    Type.Object({
      name: Name(255),
      status: Type.Enum(['active', 'disabled']),
      ...limits,
      max_recipients_per_message: RecipientsMax(),
    }),
  ),
)
export type TenantUpdate = Static<typeof TenantUpdate>

export const createTenantEndpoint = post('/v1/tenants', {
  summary: 'Create a tenant',
  access: key('admin'),
  body: TenantCreate,
  replies: { 201: Tenant },
  refusals: ['duplicate_external_id'],
  audit: 'tenant.create',
})

export const listTenantsEndpoint = get('/v1/tenants', {
  summary: 'List the tenants visible to the key, newest first',
  access: key('read'),
  query: PageQuery({
    external_id: Type.Optional(Type.String({ maxLength: 255, description: 'Only the tenant with this external id' })),
  }),
  replies: { 200: Page({ tenants: Type.Array(Tenant) }) },
})

export const getTenantEndpoint = get('/v1/tenants/{id}', {
  summary: 'Get a tenant',
  access: key('read'),
  replies: { 200: Tenant },
})

export const updateTenantEndpoint = patch('/v1/tenants/{id}', {
  summary: 'Change a tenant: absent fields are kept, null removes a limit',
  access: key('admin'),
  body: TenantUpdate,
  replies: { 200: Tenant },
  audit: 'tenant.update',
})
