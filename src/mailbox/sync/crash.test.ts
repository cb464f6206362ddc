// A process that is killed while it mirrors a mailbox loses and doubles nothing; and the same with a real Dovecot.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { anAccount, anInbox, eventually, unique } from '../../../test/support/factories.ts'
import { theBox } from '../../../test/support/box.ts'
import { hasDovecot, startDovecot } from '../../../test/support/programs/dovecot.ts'
import { assertMailboxCounts } from '../../../test/support/mailbox.ts'
import { FakeImap } from '../imap/imap.fixture.ts'
import { findConnection, insertConnection, listMirrored, setDue } from './sync.fixture.ts'

async function startHost(databaseUrl: string, port: number): Promise<ChildProcess> {
  const host = spawn(process.execPath, ['test/support/mirror-host.ts', databaseUrl, String(port), 'alone'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(host.stdout, 'data')
  return host
}

async function kill(host: ChildProcess): Promise<void> {
  host.kill('SIGKILL')
  await once(host, 'exit')
}

const mailOf = (n: number): string =>
  `From: Ann <ann@example.com>\r\nSubject: mail ${n}\r\nMessage-ID: <${unique('m')}@example.com>\r\n\r\nHello ${n}.\r\n`

test(
  'a process that is killed while it fetches history loses and doubles no message',
  { timeout: 110_000 },
  async () => {
    const MESSAGES = 500
    const box = await theBox()
    const { world } = box.app
    const inboxId = await anInbox(await anAccount())
    const address = 'jane@gmail.test'
    const fake = await FakeImap.start()
    fake.tokens.add(`token-of-${address}`)
    for (let n = 0; n < MESSAGES; n++) fake.deliver('INBOX', mailOf(n))
    await insertConnection(world, { inboxId, address })

    const killed = await startHost(box.databaseUrl, fake.server.port)
    await eventually('some filed', async () => (await listMirrored(world, inboxId)).length > 0, 60_000)
    await kill(killed)
    // The lease of the dead would lapse in half a minute.
    await setDue(world, inboxId, world.clock.now())
    const before = (await listMirrored(world, inboxId)).length
    const host = await startHost(box.databaseUrl, fake.server.port)
    await eventually('live', async () => (await findConnection(world, inboxId)).state === 'live', 60_000)
    await kill(host)
    await setDue(world, inboxId, null)
    await fake.close()

    assert.ok(before < MESSAGES, 'it was killed in the middle')
    const subjects = (await listMirrored(world, inboxId)).map(({ subject }) => subject)
    assert.equal(subjects.length, MESSAGES)
    assert.equal(new Set(subjects).size, MESSAGES)
    await assertMailboxCounts(world.db)
  },
)

const reason = hasDovecot() ? false : 'Dovecot is not installed, or this is not root'

test('a mailbox of Dovecot is mirrored, with XOAUTH2, both ways', { skip: reason, timeout: 110_000 }, async () => {
  const box = await theBox()
  const { world } = box.app
  const account = await anAccount()
  const inboxId = await anInbox(account)
  const address = 'jane@gmail.test'
  const dovecot = await startDovecot()
  await dovecot.deliver(address, [mailOf(1), mailOf(2)])
  await dovecot.deliver(address, [mailOf(3)], 'Work')
  await insertConnection(world, { inboxId, address })
  const host = await startHost(box.databaseUrl, dovecot.server.port)
  try {
    await eventually('live', async () => (await findConnection(world, inboxId)).state === 'live', 60_000)
    const first = await listMirrored(world, inboxId)
    assert.deepEqual(first.map(({ subject, folder }) => [subject, folder]).toSorted(), [
      ['mail 1', 'inbox'],
      ['mail 2', 'inbox'],
      ['mail 3', 'Work'],
    ])

    await dovecot.deliver(address, [mailOf(4)])
    await eventually('the fourth', async () => (await listMirrored(world, inboxId)).length === 4)
    const [one, two] = ['mail 1', 'mail 2'].map(subject => first.find(each => each.subject === subject)!)
    await account.api.delete(`/v1/inbox-messages/${one!.id}`)
    await account.api.post(`/v1/inbox-messages/${two!.id}/read`, { read: true })

    await eventually('in the trash there', async () => (await dovecot.list(address, 'Trash')).length === 1)
    // A maildir has the flag in the name of the file.
    await eventually('read there', async () => (await dovecot.list(address)).some(name => /:2,\w*S/.test(name)))
    // Moved there by a copy, and removed here after that.
    await eventually('and no longer in the inbox', async () => (await dovecot.list(address)).length === 2)
  } finally {
    await kill(host)
    await setDue(world, inboxId, null)
    await dovecot.stop()
  }
})
