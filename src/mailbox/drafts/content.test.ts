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

test('a draft that is sent back as it was shown stays as it is, also scheduled; without send_at it is a plain one', async () => {
  const draft = await create({ to: ['u@example.com'], text: 'x', send_at: '2999-01-02T03:04:05.000Z' })
  const { body: same } = await account.api.patch(`/v1/drafts/${draft.id}`, draft)
  assert.deepEqual({ ...same.draft, updated_at: null }, { ...draft, updated_at: null })
  assert.equal(same.draft.scheduled_at, '2999-01-02T03:04:05.000Z')
  const { send_at: _, ...content } = draft
  const { body: plain } = await account.api.patch(`/v1/drafts/${draft.id}`, content)
  assert.deepEqual([plain.draft.send_at, plain.draft.scheduled_at], [null, null])
})

test('of the attachments of a draft those that an edit names stay, in its order; the others are removed', async () => {
  const { api } = account
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const file = (name: string) => ({ filename: `${name}.txt`, content: base64(name), content_id: name, inline: true })
  const draft = await create({ to: ['u@example.com'], text: 'x', attachments: ['a', 'b', 'c'].map(file) })
  const path = `/v1/drafts/${draft.id}`
  const patched = async (body: object) => {
    const { status, body: answer } = await api.patch(path, body)
    assert.equal(status, 200, JSON.stringify(answer))
    return answer.draft.attachments
  }
  assert.deepEqual(await patched({ ...draft, text: 'y' }), draft.attachments, 'as it was shown')

  const [a, b, c] = draft.attachments
  const mixed = await patched({
    to: ['u@example.com'],
    attachments: [c, { content: base64('d') }, { id: a.id.toUpperCase() }],
  })
  assert.deepEqual([mixed[0], mixed[2]], [c, a])
  assert.deepEqual([mixed[1].filename, mixed[1].size, mixed.length], [null, 1, 3])

  const read = (reader: typeof api, id: string) => reader.get(`/v1/inbox-attachments/${id}`)
  assert.deepEqual([(await read(api, a.id)).status, (await read(api, b.id)).status], [200, 404])
  const stranger = await account.withKey({ scopes: ['read'], inbox_id: await anInbox(account) })
  assert.equal((await read(stranger, a.id)).status, 404, 'of another inbox')

  const elsewhere = await create({ attachments: [file('e')] })
  for (const { attachments, status, code } of [
    { attachments: [b], status: 404, code: 'not_found' },
    { attachments: [a, a], status: 422, code: 'invalid_message' },
    { attachments: elsewhere.attachments, status: 404, code: 'not_found' },
    { attachments: [{ filename: 'a.txt' }], status: 400, code: 'invalid_request' },
  ]) {
    const refused = await api.patch(path, { attachments })
    assert.deepEqual([refused.status, refused.body.error?.code], [status, code], refused.body.error?.message)
  }
  const withId = await api.post(`/v1/inboxes/${inboxId}/drafts`, { attachments: [{ id: a.id }] })
  assert.equal(withId.status, 400, 'a new draft has none to keep')
  assert.deepEqual((await api.get(path)).body.draft.attachments, mixed, 'a refused one changes nothing')

  const large = { filename: 'large.bin', content: Buffer.alloc(26_214_400).toString('base64') }
  const tooLarge = await api.patch(path, { attachments: [a, large] })
  assert.deepEqual([tooLarge.status, tooLarge.body.error?.code], [422, 'attachments_too_large'])

  const sent = await api.post(`${path}/send`)
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  const { body: message } = await api.get(`/v1/inbox-messages/${sent.body.id}`)
  const files: { filename: string | null; size: number }[] = message.attachments
  assert.deepEqual(
    files.map(({ filename, size }) => [filename, size]),
    [
      ['c.txt', 1],
      [null, 1],
      ['a.txt', 1],
    ],
  )
  assert.deepEqual(
    (await api.patch(`/v1/drafts/${elsewhere.id}`, { text: 'x' })).body.draft.attachments,
    [],
    'left out',
  )
})
