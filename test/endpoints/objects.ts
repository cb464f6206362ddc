// An object of each kind, made by the endpoint that creates its kind: `/v1/api-keys/{id}` needs one from `/v1/api-keys`.
import assert from 'node:assert/strict'
import { system } from '../../src/platform/db/actor.ts'
import { sql } from '../../src/platform/db/sql.ts'
import type { Contract } from '../../src/platform/http/contract.ts'
import { newId } from '../../src/platform/ids.ts'
import { raise } from '../../src/platform/journal/anomaly.ts'
import { Arrivals } from '../../src/mailbox/inbound/arrivals.ts'
import { Postmaster } from '../../src/mailbox/postmaster/take.ts'
import { operatorAccounts } from '../../src/operator-account.ts'
import { Gate } from '../../src/sending/messages/gate.ts'
import { aMailbox } from '../../src/mailbox/search/mailbox.fixture.ts'
import type { Api } from '../support/client.ts'
import {
  anAccount,
  anInboundDomain,
  anInbox,
  aTenant,
  eventually,
  unique,
  type TestAccount,
} from '../support/factories.ts'
import { aFiledMessage } from '../support/mailbox.ts'
import { bodyFor, pathFor } from './samples.ts'

/** Answers the id of a new object of the kind that the path names before `{id}`, owned by the account. */
export async function anObjectFor(contract: Contract, account: TestAccount): Promise<string> {
  const kind = kindOf(contract.path)
  const own = makers[contract.path] ?? makers[kind]
  if (own) return own(account)
  const creator = account.box.app.contracts.find(
    each => each.method === 'POST' && each.path.endsWith(`/${kind}`) && 201 in each.replies && each !== contract,
  )
  assert.ok(creator, `nothing creates ${kind}: add a maker to test/endpoints/objects.ts`)
  const ids: Record<string, string> = creator.path.includes('{id}') ? { id: await anObjectFor(creator, account) } : {}
  const created = await apiFor(creator, account).post(pathFor(creator, ids), await bodyOf(creator, account))
  assert.equal(created.status, 201, `${creator.path}: ${JSON.stringify(created.body)}`)
  return created.body.id
}

/** The same, with one object of a kind for all endpoints: for calls that change none. */
export function sharedObjects(): typeof anObjectFor {
  const made = new Map<string, Promise<string>>()
  return (contract, account) => {
    const key = `${account.id} ${contract.path in makers ? contract.path : kindOf(contract.path)}`
    const object = made.get(key) ?? anObjectFor(contract, account)
    made.set(key, object)
    return object
  }
}

/** Kinds that no single endpoint creates and names, and paths that need one in a certain state. */
const makers: Record<string, (account: TestAccount) => Promise<string>> = {
  messages: aMessage,
  suspensions: aSuspension,
  rules: aRule,
  alerts: anAlert,
  'set-aside': aDeliverySetAside,
  'inbox-attachments': anAttachment,
  accounts: async () => (await anAccount({ tenants: 0 })).id,
  inboxes: account => anInbox(account),
  threads: async account => (await aFiledMessage(account.box, await anInbox(account), { tainted: true })).threadId,
  'inbox-messages': async account => (await aFiledMessage(account.box, await anInbox(account))).id,
  postmaster: aMailToPostmaster,
  approvals: anApproval,
  drafts: aDraft,
  '/v1/inboxes/{id}/drafts': account => anInbox(account),
  '/v1/inboxes/{id}/connect': aConnectedInbox,
  // Whose domain the body names.
  '/v1/tenants/{id}/inboxes': async ({ tenant }) => tenant.id,
  '/v1/tenants/{id}/resume': async ({ api }) => {
    const { id } = await aTenant(api)
    assert.equal((await api.post(`/v1/tenants/${id}/pause`)).status, 201)
    return id
  },
  '/admin/v1/accounts/{id}/resume': async ({ box }) => {
    const { id } = await anAccount({ tenants: 0, box })
    assert.equal((await box.operator.post(`/admin/v1/accounts/${id}/pause`)).status, 200)
    return id
  },
  // Under the platform's own name, so that verifying asks no DNS and inbound may be enabled.
  domains: async ({ api, tenant }) => {
    const created = await api.post(`/v1/tenants/${tenant.id}/domains`, { name: `${unique('mail')}.sluice.test` })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    return created.body.id
  },
}

/** For every caller it is the operator's. */
async function aMailToPostmaster({ box }: TestAccount): Promise<string> {
  const { world } = box.app
  const parts = { gate: new Gate(world), arrivals: new Arrivals(world), operator: operatorAccounts(world) }
  const postmaster = new Postmaster(world, parts)
  const content = Buffer.from('Subject: x\r\n\r\nx\r\n')
  await postmaster.take({ content, headBytes: 0, mailFrom: '', clientIp: '127.0.0.1', helo: 'x', to: ['postmaster'] })
  const inbox = await postmaster.findInbox()
  return (await aFiledMessage(box, inbox!.id)).id
}

/** Scheduled, so that it can be called back. */
async function aDraft(account: TestAccount): Promise<string> {
  const wanted = { to: ['someone@example.com'], text: 'x', send_at: later(account) }
  const created = await account.api.post(`/v1/inboxes/${await anInbox(account)}/drafts`, wanted)
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return created.body.draft.id
}

const later = ({ box }: TestAccount): string => new Date(box.clock.now().getTime() + 3_600_000).toISOString()

/** Asked for by another key: the one that asked could not decide. */
async function anApproval(account: TestAccount): Promise<string> {
  const inboxId = await anInbox(account)
  await account.api.patch(`/v1/inboxes/${inboxId}`, { policy: { max_send_per_hour: 0 } })
  const agent = await account.withKey({ scopes: ['send'] })
  const held = await agent.post(`/v1/inboxes/${inboxId}/messages`, { to: ['someone@example.com'], text: 'x' })
  assert.equal(held.status, 202, JSON.stringify(held.body))
  return held.body.approval_id
}

/** Of one tenant: a pause that spans tenants is shown to each of them. */
async function aSuspension({ api, tenant }: TestAccount): Promise<string> {
  const name = `${unique('paused')}.sluice.test`
  assert.equal((await api.post(`/v1/tenants/${tenant.id}/domains`, { name })).status, 201)
  const paused = await api.post('/v1/suspensions', { scope_type: 'domain', scope_value: name })
  assert.equal(paused.status, 201, JSON.stringify(paused.body))
  return paused.body.id
}

/** The other names in a path, of objects that exist in the one that has the id. */
export async function namesFor(contract: Contract, account: TestAccount, id: string): Promise<Record<string, string>> {
  if (contract.path.endsWith('/connect/{provider}')) return { provider: 'google' }
  if (!contract.path.includes('/folders/{name}')) return {}
  if (contract.path.endsWith('/empty')) {
    await aFiledMessage(account.box, id, { folder: 'trash' })
    return { name: 'trash' }
  }
  const name = unique('folder')
  const created = await account.api.post(`/v1/inboxes/${id}/folders`, { name })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return { name }
}

/** Bodies that name objects which must exist, where the schema cannot say so. */
export async function bodyOf(
  contract: Contract,
  account: TestAccount,
  ids: Record<string, string> = {},
): Promise<unknown> {
  const own = bodies[`${contract.method} ${contract.path}`]
  return own ? { ...(bodyFor(contract) as object), ...(await own(account, ids)) } : bodyFor(contract)
}

type BodyMaker = (account: TestAccount, ids: Record<string, string>) => Promise<object>

const bodies: Record<string, BodyMaker> = {
  // A hold would refuse the deletions that follow.
  'PATCH /v1/account': async () => ({ legal_hold: false }),
  'POST /v1/tenants/{id}/inboxes': async ({ api, tenant }) => ({ domain_id: await anInboundDomain(api, tenant.id) }),
  'PUT /v1/threads/{id}/labels': async () => ({ labels: ['todo'] }),
  'PUT /v1/inbox-messages/{id}/labels': async () => ({ labels: ['todo'] }),
  'POST /v1/inbox-messages/{id}/move': async () => ({ folder: 'archive' }),
  // Without it nothing changes, and nothing is audited.
  'POST /v1/inbox-messages/{id}/extract': async () => ({ save: true }),
  'POST /v1/inboxes/{id}/batch': async ({ box }, { id }) => ({
    action: 'delete',
    ids: [(await aFiledMessage(box, id!)).id],
  }),
  'POST /v1/inboxes/{id}/messages': async () => ({ to: ['someone@example.com'], subject: unique('subject') }),
  'POST /v1/inbox-messages/{id}/forward': async () => ({ to: ['someone@example.com'] }),
  'POST /v1/inboxes/{id}/drafts': async account => ({
    to: ['someone@example.com'],
    send_at: later(account),
    reply_to_id: null,
    forwarded_id: null,
  }),
  'PATCH /v1/drafts/{id}': async account => ({
    to: ['someone@example.com'],
    send_at: later(account),
    reply_to_id: null,
    forwarded_id: null,
  }),
  'POST /v1/drafts/{id}/schedule': async account => ({ send_at: later(account) }),
  'POST /v1/messages': async account => ({ tenant_id: account.tenant.id, subject: unique('subject') }),
  'POST /v1/suspensions': async () => ({ scope_type: 'rule', scope_value: `tag:${unique('tag')}` }),
  // A name that no resolver is asked for: nothing of these tests leaves the machine.
  'POST /v1/webhooks': async ({ tenant }) => ({ url: 'https://hooks.invalid/', tenant_id: tenant.id }),
  'POST /v1/rules/test': async () => ({ from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' }),
  'POST /v1/billing/assignments': async account => ({ plan_id: await aPlan(account) }),
  'POST /admin/v1/accounts/{id}/plan': async account => ({ plan_id: await aPlan(account) }),
  'POST /v1/billing/checkout': async account => ({ plan_id: await aPlan(account) }),
  'POST /v1/complaints': async account => ({ message_id: await aMessage(account), recipient: 'someone@example.com' }),
}

/** Without its tokens: its grant is gone. */
async function aConnectedInbox(account: TestAccount): Promise<string> {
  const id = await anInbox(account)
  await account.box.app.world.db.transact(system('test'), async tx => {
    await tx.run(sql`
      insert into connections (inbox_id, account_id, tenant_id, provider, address, state, connected_at)
      values (${id}, ${account.id}, ${account.tenant.id}, 'google', 'ann@example.com', 'reconnect_required', ${tx.now})`)
    await tx.run(sql`update inboxes set provider = 'google' where id = ${id}`)
  })
  return id
}

async function aPlan({ box }: TestAccount): Promise<string> {
  const created = await box.operator.post('/admin/v1/plans', { name: 'Sample', payment_price_id: unique('price') })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return created.body.id
}

async function aRule({ api }: TestAccount): Promise<string> {
  const body = { name: unique('rule'), metric: 'recipients', scope_type: 'tenant', window_seconds: 60, action: 'alert' }
  const saved = await api.put('/v1/rules', body)
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  return saved.body.id
}

/** Attachments come with mail. */
async function anAttachment(account: TestAccount): Promise<string> {
  const { file } = await aMailbox(account)
  const { attachmentIds } = await file({ attachments: [{ filename: 'a.txt', content: Buffer.from('a') }] })
  return attachmentIds[0]!
}

/** Alerts are made from the journal. */
async function anAlert({ box, id, tenant }: TestAccount): Promise<string> {
  const { db } = box.app.world
  const alertId = await db.transact(system('test'), async tx =>
    raise(tx, { kind: 'test', severity: 'info', title: 'A test.', accountId: id, tenantId: tenant.id }),
  )
  await eventually('an alert', () => db.maybe(sql`select 1 as found from alerts where id = ${alertId}`))
  return alertId
}

/** No endpoint sets mail aside; workers that die do. */
async function aDeliverySetAside(account: TestAccount): Promise<string> {
  const { api, tenant, box } = account
  await api.post('/v1/suspensions', { scope_type: 'rule', scope_value: 'tag:aside' })
  const body = { tenant_id: tenant.id, from: 'a@acme.sluice.test', to: [`${unique('aside')}@example.com`], text: 'x' }
  const sent = await api.post('/v1/messages', { ...body, tags: ['aside'] })
  assert.equal(sent.body.held, 1, JSON.stringify(sent.body))
  const id = newId(box.clock.now())
  await box.app.world.db.transact(system('test'), async tx => {
    await tx.run(sql`
      insert into suspension_holds (suspension_id, held)
      select suspension_id, -1 from queue where message_id = ${sent.body.message_id}`)
    await tx.run(sql`
      update queue set suspension_id = null, set_aside_id = ${id}, crashes = 3
      where message_id = ${sent.body.message_id}`)
  })
  return id
}

async function aMessage(account: TestAccount): Promise<string> {
  const body = { tenant_id: account.tenant.id, from: 'a@acme.sluice.test', to: ['someone@example.com'], text: 'x' }
  const sent = await account.api.post('/v1/messages', body)
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  return sent.body.message_id
}

const kindOf = (path: string): string => path.split('/{id}')[0]!.split('/').at(-1)!

export const apiFor = (contract: Contract, account: TestAccount): Api =>
  contract.access.kind === 'operator' ? account.box.operator : account.api
