// What a draft may hold: what the same mail may hold when it is sent at once, and no more on a page than a caller can take.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { anAccount, anInbox, type TestAccount } from '../../../test/support/factories.ts'

let account: TestAccount
let inboxId: string
before(async () => {
  account = await anAccount()
  inboxId = await anInbox(account)
})

const create = async (body: object, inbox: string = inboxId) => {
  const { status, body: answer } = await account.api.post(`/v1/inboxes/${inbox}/drafts`, body)
  assert.equal(status, 201, JSON.stringify(answer))
  return answer.draft
}

test('what a mail that is sent at once may not say, neither a draft nor a scheduled mail says', async () => {
  const { api, box } = account
  const send_at = new Date(box.clock.now().getTime() + 3_600_000).toISOString()
  const mail = { to: ['u@example.com'], text: 'x' }
  const content = Buffer.from('hello').toString('base64')
  const wrong = [
    { subject: 'One\r\nBcc: v@example.com' },
    { subject: 'x'.repeat(999) },
    { text: 'x'.repeat(10 * 1024 * 1024 + 1) },
    { attachments: [{ content, filename: 'a\r\nb.txt' }] },
    { attachments: [{ content, filename: 'x'.repeat(4_097) }] },
    { attachments: [{ content, content_type: `text/${'x'.repeat(4_097)}` }] },
    { attachments: [{ content, content_id: 'a logo' }] },
  ]
  const { id } = await create(mail)
  for (const fields of wrong) {
    const messages = `/v1/inboxes/${inboxId}/messages`
    const answers = [
      await api.post(messages, { ...mail, ...fields }),
      await api.post(messages, { ...mail, ...fields, send_at }),
      await api.post(`/v1/inboxes/${inboxId}/drafts`, { ...mail, ...fields }),
      await api.patch(`/v1/drafts/${id}`, { ...mail, ...fields }),
    ]
    const [first] = answers
    assert.deepEqual([first!.status, first!.body.error?.code], [422, 'invalid_message'])
    for (const answer of answers) {
      assert.equal(answer.status, 422, JSON.stringify(fields).slice(0, 100))
      assert.equal(answer.body.error.message, first!.body.error.message)
    }
  }
})

test('a page of drafts ends early by their recipients and by the names of their files as well', async () => {
  const words = (count: number) => Array.from({ length: count }, () => randomBytes(500).toString('hex'))
  const content = Buffer.from('x').toString('base64')
  const files = words(400).map(name => ({ content, filename: name.repeat(4) }))
  for (const body of [
    { to: words(900) },
    { bcc: words(900) },
    { cc: Array(900).fill('a'.repeat(1_000)) },
    { attachments: files },
  ]) {
    const inbox = await anInbox(account)
    const made: string[] = []
    for (let n = 0; n < 3; n++) made.unshift((await create(body, inbox)).id)
    const { body: page } = await account.api.get(`/v1/inboxes/${inbox}/drafts`)
    const ids: string[] = page.drafts.map(({ id }: { id: string }) => id)
    assert.ok(ids.length < 3, `${Object.keys(body)[0]}: ${ids.length} on a page`)
    assert.deepEqual(ids, made.slice(0, ids.length))
    const cursor = encodeURIComponent(page.next_cursor)
    const { body: next } = await account.api.get(`/v1/inboxes/${inbox}/drafts?cursor=${cursor}`)
    assert.equal(next.drafts[0].id, made[ids.length])
  }
})
