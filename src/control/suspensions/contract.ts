// Pauses: stopping one scope's mail at once, without losing any of it, and releasing it again.
import type { Static } from 'typebox'
import { get, key, operator, post } from '../../platform/http/contract.ts'
import { DateTime, Int64, NamedObject, Nullable, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

export const SCOPE_TYPES = ['account', 'tenant', 'domain', 'sender', 'credential', 'api_key', 'rule'] as const
export type ScopeType = (typeof SCOPE_TYPES)[number]

const QueueAction = () =>
  Type.Enum(['hold', 'reject'], {
    description: 'What happens to new mail: accepted and held, or refused with 403 sending_suspended (SMTP 451 4.7.1)',
  })

const fields = {
  id: Uuid(),
  scope_type: Type.Enum([...SCOPE_TYPES]),
  scope_value: Type.String(),
  scope: Type.String({ description: '`<scope_type>:<scope_value>`' }),
  tenant_id: Nullable(Uuid({ description: 'The tenant that the scope lies in; null when it may span tenants' })),
  only_tenant: Type.Boolean({
    description: 'Of the scope, only the mail of that tenant: a pause of the guardian over what other tenants use too',
  }),
  reason: Nullable(Type.String()),
  queue_action: QueueAction(),
  source: Type.Enum(['api', 'guardian', 'operator']),
  rule_id: Nullable(Uuid({ description: "The guardian's rule that asked for it" })),
  evidence: Nullable(Type.Record(Type.String(), Type.Unknown(), { description: 'What the guardian saw' })),
  status: Type.Enum(['active', 'resumed']),
  held_count: Int64({ description: 'Recipients it holds now' }),
  created_by: Nullable(Type.String()),
  created_at: DateTime(),
  resumed_at: Nullable(DateTime()),
  resumed_by: Nullable(Type.String()),
  resume_note: Nullable(Type.String()),
  resume_action: Nullable(Type.Enum(['release', 'purge'])),
}

export const Suspension = NamedObject('Suspension', fields)
export type Suspension = Static<typeof Suspension>

const accountsFields = { held_count: fields.held_count, created_by: fields.created_by, evidence: fields.evidence }

/** To a tenant's key, what a pause that spans tenants says of the others is left out, not zeroed. */
const SuspensionSeen = NamedObject('SuspensionSeen', {
  ...fields,
  ...Type.Partial(Type.Object(accountsFields)).properties,
})
export type SuspensionSeen = Static<typeof SuspensionSeen>

const SuspensionCreated = NamedObject('SuspensionCreated', {
  ...fields,
  created: Type.Boolean({ description: 'False when the scope was paused already' }),
})

const SuspensionResumed = NamedObject('SuspensionResumed', {
  ...fields,
  affected_deliveries: Int64({ description: 'Recipients re-queued or cancelled; they follow in the background' }),
})

const Reason = Type.Optional(Nullable(Type.String({ maxLength: 1000 })))

const SuspensionCreate = NamedObject('SuspensionCreate', {
  scope_type: Type.Enum([...SCOPE_TYPES]),
  scope_value: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 400,
      description:
        'Id of a tenant, SMTP credential or API key; a From domain; a From address; for `rule` `tag:<tag>` or ' +
        '`recipient_domain:<domain>`; for `account` its id, or nothing',
    }),
  ),
  reason: Reason,
  queue_action: Type.Optional(QueueAction()),
})
type SuspensionCreate = Static<typeof SuspensionCreate>

const PauseOrder = NamedObject('PauseOrder', { reason: Reason, queue_action: Type.Optional(QueueAction()) })

const ResumeOrder = NamedObject('ResumeOrder', {
  action: Type.Optional(Type.Enum(['release', 'purge'], { default: 'release' })),
  note: Type.Optional(Nullable(Type.String({ maxLength: 1000, description: 'Recorded in the audit log' }))),
})
export type ResumeOrder = Static<typeof ResumeOrder>

export const createSuspensionEndpoint = post('/v1/suspensions', {
  summary: 'Pause a scope: nothing that it matches is attempted after the answer',
  access: key('suspend'),
  body: SuspensionCreate,
  replies: { 201: SuspensionCreated, 200: SuspensionCreated },
  refusals: ['not_found', 'conflict'],
  audit: 'suspension.create',
})

export const listSuspensionsEndpoint = get('/v1/suspensions', {
  summary: 'List pauses, newest first',
  access: key('read'),
  query: PageQuery({ status: Type.Optional(Type.Enum(['active', 'resumed'])) }),
  replies: { 200: Page({ suspensions: Type.Array(SuspensionSeen) }) },
})

export const getSuspensionEndpoint = get('/v1/suspensions/{id}', {
  summary: 'One pause, with the evidence that led to it',
  access: key('read'),
  replies: { 200: SuspensionSeen },
})

export const resumeSuspensionEndpoint = post('/v1/suspensions/{id}/resume', {
  summary: 'End a pause: what it holds is re-queued, or cancelled with `purge`',
  access: key('suspend'),
  body: ResumeOrder,
  isBodyOptional: true,
  replies: { 200: SuspensionResumed },
  refusals: ['forbidden'],
  audit: 'suspension.resume',
})

export const pauseTenantEndpoint = post('/v1/tenants/{id}/pause', {
  summary: 'Pause a tenant',
  access: key('suspend'),
  body: PauseOrder,
  isBodyOptional: true,
  replies: { 201: SuspensionCreated, 200: SuspensionCreated },
  audit: 'tenant.pause',
})

export const resumeTenantEndpoint = post('/v1/tenants/{id}/resume', {
  summary: 'Resume a paused tenant',
  access: key('suspend'),
  body: ResumeOrder,
  isBodyOptional: true,
  replies: { 200: SuspensionResumed },
  audit: 'tenant.resume',
})

export const pauseAccountEndpoint = post('/admin/v1/accounts/{id}/pause', {
  summary: 'Pause a whole account; only the operator can resume it',
  access: operator,
  body: PauseOrder,
  isBodyOptional: true,
  replies: { 200: SuspensionCreated },
  audit: 'account.pause',
})

export const resumeAccountEndpoint = post('/admin/v1/accounts/{id}/resume', {
  summary: 'Resume a paused account',
  access: operator,
  body: ResumeOrder,
  isBodyOptional: true,
  replies: { 200: SuspensionResumed },
  audit: 'account.resume',
})
