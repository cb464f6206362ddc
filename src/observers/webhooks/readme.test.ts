// The receiver's check in the README, taken out of it and run against real pushes.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, eventually } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { aReceiver, type Receiver } from '../../platform/net/receiver.fixture.ts'

let folder: string
let box: Box
let receiver: Receiver
let isFromSluice: (header: unknown, body: string | Buffer, secret: string) => boolean

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-readme-'))
  const readme = await readFile(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8')
  const code = /```js\n([\s\S]*?isFromSluice[\s\S]*?)```/.exec(readme)?.[1]
  assert.ok(code, 'the README shows how to verify a signature')
  await writeFile(join(folder, 'receiver.mjs'), code)
  isFromSluice = (await import(pathToFileURL(join(folder, 'receiver.mjs')).href)).isFromSluice
  receiver = await aReceiver()
  box = await aBox({ environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } })
})

after(() => Promise.all([receiver.close(), rm(folder, { recursive: true, force: true })]))

test('the check in the README accepts real pushes, both secrets of a rotation, and nothing else', async () => {
  const account = await anAccount({ box })
  const { body: webhook } = await account.api.post('/v1/webhooks', { url: receiver.url })
  const { body: rotated } = await account.api.post(`/v1/webhooks/${webhook.id}/rotate`)
  await box.app.world.db.transact(system('test'), async tx =>
    tx.record({ type: 'bounced', accountId: account.id, recipient: 'zoë@example.com', messageId: randomUUID() }),
  )
  const push = await eventually('a push', async () => receiver.received[0])
  const header = String(push.headers['x-service-signature'])

  assert.ok(isFromSluice(header, push.body, webhook.secret))
  assert.ok(isFromSluice(header, Buffer.from(push.body), rotated.secret))
  assert.ok(!isFromSluice(header, push.body, 'whsec_of-somebody-else'))
  assert.ok(!isFromSluice(header, push.body.replace('bounced', 'deliver'), webhook.secret))
  for (const forged of [
    undefined,
    '',
    'x',
    't=1',
    'v1=00',
    header.replace(/v1=../, 'v1=zz').split(',v1').slice(0, 2).join(',v1'),
  ])
    assert.ok(!isFromSluice(forged, push.body, webhook.secret), String(forged))
})

test('the check in the README refuses what is older than five minutes', async () => {
  const account = await anAccount({ box })
  const { body: webhook } = await account.api.post('/v1/webhooks', { url: `${receiver.url}/old` })
  box.clock.advance(-301_000)
  await account.api.post(`/v1/webhooks/${webhook.id}/test`)
  box.clock.advance(301_000)
  const [push] = receiver.of('/old')

  assert.ok(!isFromSluice(push!.headers['x-service-signature'], push!.body, webhook.secret))
})
