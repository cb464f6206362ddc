// Which plan prices an account or a tenant, and from when. Assignments are added and never changed: they are the history.
import type { Static } from 'typebox'
import { get, key, operator, post } from '../../platform/http/contract.ts'
import { DateTime, NamedObject, Nullable, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const DateOnly = (options: object = {}) => Type.String({ format: 'date', ...options })

export const Assignment = NamedObject('Assignment', {
  id: Uuid(),
  tenant_id: Nullable(Uuid({ description: "Null: the account's own plan; otherwise the rate card of a tenant" })),
  plan_id: Nullable(Uuid({ description: 'Null: no plan from this day on' })),
  effective_from: DateOnly(),
  source: Type.Enum(['operator', 'account', 'payment'], { description: 'Who assigned it' }),
  created_at: DateTime(),
})
export type Assignment = Static<typeof Assignment>

const planFields = {
  plan_id: Uuid(),
  effective_from: Type.Optional(DateOnly({ description: 'A UTC day; today where it is omitted' })),
}

export const listAssignmentsEndpoint = get('/v1/billing/assignments', {
  summary: "Plan assignments, newest first: the account's plan and the rate cards of tenants, with their history",
  access: key('read'),
  query: PageQuery({ tenant_id: Type.Optional(Uuid({ description: 'Only the rate cards of this tenant' })) }),
  replies: { 200: Page({ assignments: Type.Array(Assignment) }) },
  refusals: ['not_found'],
})

export const createAssignmentEndpoint = post('/v1/billing/assignments', {
  summary: 'Assign a plan to the account, or to a tenant as its rate card',
  access: key('admin'),
  body: NamedObject('AssignmentCreate', { ...planFields, tenant_id: Type.Optional(Nullable(Uuid())) }),
  replies: { 201: Assignment },
  refusals: ['not_found', 'conflict'],
  audit: 'assignment.create',
})

export const assignAccountPlanEndpoint = post('/admin/v1/accounts/{id}/plan', {
  summary: 'Assign a plan to an account',
  access: operator,
  body: NamedObject('AccountPlan', planFields),
  replies: { 201: Assignment },
  refusals: ['conflict'],
  audit: 'assignment.create',
})
