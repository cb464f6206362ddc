// A process that is killed while it mirrors a mailbox loses and doubles nothing; and the same with a real Dovecot.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { eventually, unique } from '../../../test/support/factories.ts'
import { theBox } from '../../../test/support/box.ts'
import { hasDovecot, startDovecot } from '../../../test/support/programs/dovecot.ts'
import { assertMailboxCounts } from '../../../test/support/mailbox.ts'
import { FakeImap } from '../imap/imap.fixture.ts'
import { connect } from './connected.fixture.ts'

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

const ADDRESS = 'jane@gmail.test'

const mailOf = (n: number): string =>
  `From: Ann <ann@example.com>\r\nSubject: mail ${n}\r\nMessage-ID: <${unique('m')}@example.com>\r\n\r\nHello ${n}.\r\n`

test(
  'a process that is killed while it fetches history loses and doubles no message',
  { timeout: 110_000 },
  async t => {
    // In three batches.
    const MESSAGES = 300
    const { app, databaseUrl } = await theBox()
    const accessToken = `token-of-${ADDRESS}`
    const fake = await FakeImap.start()
    fake.tokens.add(accessToken)
    for (let n = 0; n < MESSAGES; n++) fake.deliver('INBOX', mailOf(n))
    // The oldest are not handed out, so that it is killed in the middle.
    fake.meddle = command => (/^UID FETCH (\d+,)*1 .*BODY\.PEEK\[\]/.test(command) ? { say: '' } : null)
    const connected = await connect(t, fake, { accessToken, isIdle: true })

    const host = await startHost(databaseUrl, fake.server.port)
    await eventually('some filed', async () => (await connected.messages()).length > 0, 60_000)
    await kill(host)
    fake.meddle = () => null
    const before = (await connected.messages()).length
    // The lease of the dead would lapse in half a minute.
    await connected.tryAgain()
    await connected.start()
    await connected.untilState('live')

    assert.ok(before < MESSAGES, 'it was killed in the middle')
    const subjects = (await connected.messages()).map(({ subject }) => subject)
    assert.equal(subjects.length, MESSAGES)
    assert.equal(new Set(subjects).size, MESSAGES)
    await assertMailboxCounts(app.world.db)
  },
)

const reason = hasDovecot() ? false : 'Dovecot is not installed, or this is not root'

test('a mailbox of Dovecot is mirrored, with XOAUTH2, both ways', { skip: reason, timeout: 110_000 }, async t => {
  const { server, stop, deliver, list, tokenOf } = await startDovecot()
  await deliver(ADDRESS, [mailOf(1), mailOf(2)])
  await deliver(ADDRESS, [mailOf(3)], 'Work')
  const connected = await connect(t, { server, close: stop }, { accessToken: tokenOf(ADDRESS) })
  await connected.untilState('live')
  const first = await connected.messages()
  assert.deepEqual(first.map(({ subject, folder }) => [subject, folder]).toSorted(), [
    ['mail 1', 'inbox'],
    ['mail 2', 'inbox'],
    ['mail 3', 'Work'],
  ])

  await deliver(ADDRESS, [mailOf(4)])
  await connected.until('the fourth', messages => messages.length === 4)
  const [one, two] = ['mail 1', 'mail 2'].map(subject => first.find(each => each.subject === subject)!)
  const { api } = connected.account
  await api.delete(`/v1/inbox-messages/${one!.id}`)
  await api.post(`/v1/inbox-messages/${two!.id}/read`, { read: true })

  await eventually('in the trash there', async () => (await list(ADDRESS, 'Trash')).length === 1)
  // A maildir has the flag in the name of the file.
  await eventually('read there', async () => (await list(ADDRESS)).some(name => /:2,\w*S/.test(name)))
  // Moved there by a copy, and removed here after that.
  await eventually('and no longer in the inbox', async () => (await list(ADDRESS)).length === 2)
})
