// Lists and searches are read from the replica where there is one, and from the primary while it is away.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aBox, aDatabase } from '../../../test/support/box.ts'
import { aDatabaseProxy } from '../../../test/support/database-proxy.ts'
import { anAccount, anInbox } from '../../../test/support/factories.ts'
import { aFiledMessage } from '../../../test/support/mailbox.ts'

test('lists come from the replica, and from the primary while it is away', async t => {
  const databaseUrl = await aDatabase()
  const proxy = await aDatabaseProxy(databaseUrl)
  const box = await aBox({ until: t, databaseUrl, environment: { DATABASE_REPLICA_URL: proxy.url } })
  const account = await anAccount({ box })
  const inbox = await anInbox(account)
  const { id } = await aFiledMessage(box, inbox)
  const bytes: number[] = []
  proxy.onBytes = total => void bytes.push(total)
  const isListed = async () => {
    const paths = ['messages', 'search?q=in:all', 'threads']
    const [messages, found, threads] = await Promise.all(
      paths.map(path => account.api.get(`/v1/inboxes/${inbox}/${path}`)),
    )
    assert.deepEqual(
      [messages, found].map(page => page!.body.messages.map((message: { id: string }) => message.id)),
      [[id], [id]],
    )
    assert.equal(threads!.body.threads.length, 1)
    assert.equal((await account.api.get('/v1/tenants')).body.tenants.length, 1)
  }

  await isListed()
  assert.ok(bytes.length > 0, 'the replica was asked')

  proxy.cut()
  await isListed()

  proxy.restore()
  bytes.length = 0
  await isListed()
  assert.ok(bytes.length > 0, 'the replica is asked again')

  // It may be behind with what was blocked or deleted.
  bytes.length = 0
  for (const [name, more] of Object.entries({ list_messages: {}, search_messages: { q: 'in:all' } })) {
    const params = { name, arguments: { inbox_id: inbox, ...more } }
    const { body } = await account.api.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    assert.equal(body.result.structuredContent.messages.length, 1)
  }
  assert.deepEqual(bytes, [], 'tools for models ask the primary')
})
