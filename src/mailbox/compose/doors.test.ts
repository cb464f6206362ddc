// The policy of an inbox, through every door that mail leaves it by.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import type { Api, TestReply } from '../../../test/support/client.ts'
import { anAccount, anInbox, eventually, type TestAccount } from '../../../test/support/factories.ts'
import { aFiledMessage } from '../../../test/support/mailbox.ts'

const CARD = 'Card 4111 1111 1111 1111'
const HOUR_MS = 3_600_000

let account: TestAccount
let agent: Api
before(async () => {
  account = await anAccount({ sandbox: true, box: await theBox() })
  agent = await account.withKey({ scopes: ['send', 'read'] })
})

const inAnHour = (): string => new Date(account.box.clock.now().getTime() + HOUR_MS).toISOString()
const cardFile = { filename: 'list.txt', content: Buffer.from(CARD).toString('base64') }

interface Mail {
  inboxId: string
  to: string[]
  /** A message of the inbox with the card in its text, and another in a file. */
  originalId: string
}

type Door = (mail: Mail) => Promise<TestReply>

async function draftThat(inboxId: string, fields: object): Promise<string> {
  const { status, body } = await agent.post(`/v1/inboxes/${inboxId}/drafts`, fields)
  assert.equal(status, 201, JSON.stringify(body))
  return body.draft.id
}

const callTool: (name: string, given: object) => Promise<TestReply> = async (name, given) => {
  const params = { name, arguments: given }
  const { body, ...reply } = await agent.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  return { ...reply, body: body.result.structuredContent ?? body.result }
}

const AT_ONCE: Record<string, Door> = {
  'new mail': ({ inboxId, to }) => agent.post(`/v1/inboxes/${inboxId}/messages`, { to, text: CARD }),
  'a file of new mail': ({ inboxId, to }) =>
    agent.post(`/v1/inboxes/${inboxId}/messages`, { to, text: 'See file.', attachments: [cardFile] }),
  reply: ({ originalId, to }) => agent.post(`/v1/inbox-messages/${originalId}/reply`, { cc: to, text: CARD }),
  'reply that quotes': ({ originalId, to }) => agent.post(`/v1/inbox-messages/${originalId}/reply`, { cc: to }),
  forward: ({ originalId, to }) => agent.post(`/v1/inbox-messages/${originalId}/forward`, { to, text: 'FYI' }),
  draft: async ({ inboxId, to }) => agent.post(`/v1/drafts/${await draftThat(inboxId, { to, text: CARD })}/send`),
  'file of a draft': async ({ inboxId, to }) =>
    agent.post(`/v1/drafts/${await draftThat(inboxId, { to, text: 'x', attachments: [cardFile] })}/send`),
  'tool send_message': ({ inboxId, to }) =>
    callTool('send_message', { inbox_id: inboxId, to, subject: 's', text: CARD }),
}

const LATER: Record<string, Door> = {
  'new mail with send_at': ({ inboxId, to }) =>
    agent.post(`/v1/inboxes/${inboxId}/messages`, { to, text: CARD, send_at: inAnHour() }),
  'forward with send_at': ({ originalId, to }) =>
    agent.post(`/v1/inbox-messages/${originalId}/forward`, { to, send_at: inAnHour() }),
  'draft with send_at': ({ inboxId, to }) =>
    agent.post(`/v1/inboxes/${inboxId}/drafts`, { to, text: 'x', attachments: [cardFile], send_at: inAnHour() }),
  'scheduled draft': async ({ inboxId, to }) =>
    agent.post(`/v1/drafts/${await draftThat(inboxId, { to, text: CARD })}/schedule`, { send_at: inAnHour() }),
  'draft that is written anew': async ({ inboxId, to }) =>
    agent.patch(`/v1/drafts/${await draftThat(inboxId, { text: 'x' })}`, { to, text: CARD, send_at: inAnHour() }),
}

async function aMailbox(policy: object): Promise<Mail> {
  const inboxId = await anInbox(account)
  const { id: originalId } = await aFiledMessage(account.box, inboxId, {
    text: CARD,
    attachments: [{ filename: 'cards.txt', content: CARD }],
  })
  assert.equal((await account.api.patch(`/v1/inboxes/${inboxId}`, { policy })).status, 200)
  return { inboxId, to: ['thief@collect.example'], originalId }
}

const approvalsOf = async (inboxId: string) =>
  (await account.api.get(`/v1/inboxes/${inboxId}/approvals?status=pending`)).body.approvals

test('what a detector finds is held, by every door', async () => {
  for (const [name, open] of Object.entries(AT_ONCE)) {
    const mail = await aMailbox({ dlp: 'enforce' })
    const { body } = await open(mail)
    assert.equal(body.status, 'held', `${name}: ${JSON.stringify(body)}`)
    const [approval] = await approvalsOf(mail.inboxId)
    assert.equal(approval.reasons[0].kind, 'dlp', name)
  }
})

test('what is sent later is held when it is due, in the name of the key that asked, which cannot approve it', async () => {
  const inboxIds = new Map<string, string>()
  for (const [name, open] of Object.entries(LATER)) {
    const mail = await aMailbox({ dlp: 'enforce' })
    const { status, body } = await open(mail)
    assert.ok(status < 300, `${name}: ${JSON.stringify(body)}`)
    inboxIds.set(name, mail.inboxId)
  }
  const approver = await account.withKey({ scopes: ['send', 'read', 'admin'] })
  account.box.clock.advance(HOUR_MS + 1_000)
  for (const [name, inboxId] of inboxIds) {
    const [approval] = await eventually(`${name} is held`, async () => {
      const pending = await approvalsOf(inboxId)
      return pending.length > 0 && pending
    })
    assert.equal(approval.requested_by.type, 'api_key', name)
    assert.equal((await agent.post(`/v1/approvals/${approval.id}/approve`)).status, 403, name)
    assert.equal((await approver.post(`/v1/approvals/${approval.id}/approve`)).status, 200, name)
  }
})

test('a recipient that the policy does not allow is refused with 403, by every door', async () => {
  const mail = await aMailbox({ allow_recipients: ['friends.example'] })
  for (const [name, open] of Object.entries({ ...AT_ONCE, ...LATER })) {
    const { status, body } = await open(mail)
    if (name.startsWith('tool')) assert.match(JSON.stringify(body), /does not allow/)
    else assert.deepEqual([status, body.error?.code], [403, 'recipient_not_allowed'], name)
  }
  const { body } = await account.api.get(`/v1/inboxes/${mail.inboxId}/drafts`)
  assert.ok(body.drafts.every((draft: { scheduled_at: unknown }) => draft.scheduled_at === null))
})
