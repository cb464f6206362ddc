// The plan catalogue: kept by the operator, read by accounts.
import type { Static } from 'typebox'
import { del, get, key, operator, patch, post } from '../../platform/http/contract.ts'
import { component, Name, NamedObject, Page, PageQuery } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Plan, prices } from './plan.ts'

const optionalPrices = Type.Partial(Type.Object(prices)).properties

const PlanInput = NamedObject('PlanInput', { name: Name(255), ...optionalPrices })
export type PlanInput = Static<typeof PlanInput>

const PlanUpdate = component('PlanUpdate', Type.Partial(Type.Object({ name: Name(255), ...prices })))
export type PlanUpdate = Static<typeof PlanUpdate>

const page = { 200: Page({ plans: Type.Array(Plan) }) } as const

export const listCatalogueEndpoint = get('/v1/billing/plans', {
  summary: 'The active plans, newest first',
  access: key('read'),
  query: PageQuery({}),
  replies: page,
})

export const listPlansEndpoint = get('/admin/v1/plans', {
  summary: 'All plans, archived ones included, newest first',
  access: operator,
  query: PageQuery({ active: Type.Optional(Type.Enum(['1'], { description: 'Leaves archived plans out' })) }),
  replies: page,
})

export const createPlanEndpoint = post('/admin/v1/plans', {
  summary: 'Create a plan: what is omitted is 0, without tiers, in EUR and not for sale',
  access: operator,
  body: PlanInput,
  replies: { 201: Plan },
  refusals: ['conflict'],
  audit: 'plan.create',
})

export const getPlanEndpoint = get('/admin/v1/plans/{id}', {
  summary: 'Get a plan, archived or not',
  access: operator,
  replies: { 200: Plan },
})

export const updatePlanEndpoint = patch('/admin/v1/plans/{id}', {
  summary: 'Change a plan that is not archived: absent fields are kept. Previews of every month follow it at once',
  access: operator,
  body: PlanUpdate,
  replies: { 200: Plan },
  refusals: ['conflict'],
  audit: 'plan.update',
})

export const archivePlanEndpoint = del('/admin/v1/plans/{id}', {
  summary: 'Archive a plan: it goes on pricing whom it was assigned to, and is not assigned any more',
  access: operator,
  replies: { 204: null },
  audit: 'plan.archive',
})
