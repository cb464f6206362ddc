// What tests begin with: an account and what it needs, made through the API like anybody else's.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { sql } from '../../src/platform/db/sql.ts'
import type { Scope } from '../../src/platform/principal.ts'
import { theBox, type Box } from './box.ts'
import type { Api } from './client.ts'
import { eventually } from './eventually.ts'

export { eventually } from './eventually.ts'

export interface TestTenant {
  id: string
  external_id: string
  name: string
}

export interface TestAccount {
  box: Box
  id: string
  /** With the bootstrap admin key. */
  api: Api
  bearer: string
  tenants: TestTenant[]
  /** The first tenant. */
  tenant: TestTenant
  /** A client with a new key. */
  withKey(key: {
    scopes: Scope[]
    tenant_id?: string
    inbox_id?: string
    allowed_cidrs?: string[]
    expires_in_days?: number
  }): Promise<Api>
}

export async function anAccount({
  tenants: count = 1,
  sandbox = false,
  box: given,
}: { tenants?: number; sandbox?: boolean; box?: Box } = {}): Promise<TestAccount> {
  const box = given ?? (await theBox())
  const created = await box.operator.post('/admin/v1/accounts', { name: 'Test account', sandbox })
  assert.equal(created.status, 201)
  const bearer: string = created.body.api_key.secret
  const api = box.client(bearer)
  const tenants: TestTenant[] = []
  for (let index = 0; index < count; index++) tenants.push(await aTenant(api))
  return {
    box,
    id: created.body.account.id,
    api,
    bearer,
    tenants,
    get tenant() {
      return tenants[0]!
    },
    withKey: async key => {
      const made = await api.post('/v1/api-keys', { name: 'Test key', ...key })
      assert.equal(made.status, 201, JSON.stringify(made.body))
      return box.client(made.body.secret)
    },
  }
}

export async function aTenant(api: Api, fields: object = {}): Promise<TestTenant> {
  const created = await api.post('/v1/tenants', { external_id: unique('tenant'), name: 'Test tenant', ...fields })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return created.body
}

/** By tenant: making the key of a domain takes most of a second. */
const inboundDomains = new Map<string, Promise<string>>()

/** An inbox of the tenant, made through the API; answers its id. */
export async function anInbox({ api, tenant }: TestAccount, tenantId: string = tenant.id): Promise<string> {
  const domain = inboundDomains.get(tenantId) ?? anInboundDomain(api, tenantId)
  inboundDomains.set(tenantId, domain)
  const body = { domain_id: await domain, local_part: unique('inbox') }
  const created = await api.post(`/v1/tenants/${tenantId}/inboxes`, body)
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return created.body.id
}

/** Under the platform's own name, so that it is verified without DNS; answers its id. */
export async function anInboundDomain(api: Api, tenantId: string): Promise<string> {
  const created = await api.post(`/v1/tenants/${tenantId}/domains`, { name: `${unique('mail')}.sluice.test` })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const enabled = await api.post(`/v1/domains/${created.body.id}/inbound`, { enabled: true })
  assert.equal(enabled.status, 200, JSON.stringify(enabled.body))
  return created.body.id
}

export const unique = (word: string): string => `${word}-${randomBytes(6).toString('hex')}`

/** Retention keeps what some tail has not read. */
export const readByTails = ({ app }: Box): Promise<unknown> =>
  eventually('every tail has read everything', () =>
    app.world.db.value<boolean>(sql`select (select min(cursor) from tails) >= (select max(id) from events)`),
  )
