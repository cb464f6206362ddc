// A mailbox at a provider that is slow, broken, huge or changes all the time: nothing is lost, doubled or left hanging.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../platform/db/sql.ts'
import { eventually } from '../../../test/support/factories.ts'
import { assertMailboxCounts } from '../../../test/support/mailbox.ts'
import { FakeImap, type Meddle } from '../imap/imap.fixture.ts'
import type { Patience } from '../imap/session.ts'
import { theBox } from '../../../test/support/box.ts'
import { connect, mail, type Connected } from './connected.fixture.ts'

const at = new Date('2024-03-01T10:00:00Z')

const subjectsOf = async ({ messages }: Connected): Promise<string[]> =>
  (await messages()).map(({ subject }) => subject).toSorted()

const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => `mail ${n}`)

/** As many as the provider has, and no row of one that it has not. */
async function assertSynced(connected: Connected, count: number): Promise<void> {
  await eventually('progress is exact', async () => {
    const { messages_synced, messages_total } = await connected.connection()
    return messages_synced === count && messages_total === count
  })
}

interface Fault {
  meddle?: Meddle
  drip?: FakeImap['drip']
  patience?: Patience
  error: RegExp
}

/** Much less than in the service. */
const patience = { silenceMs: 1_000, commandMs: 2_000 }

const faults: Record<string, Fault> = {
  silence: {
    meddle: command => (command.startsWith('SELECT') ? { say: '' } : null),
    patience,
    error: /provider/i,
  },
  'answers that come byte by byte': {
    drip: { command: 'UID SEARCH', everyMs: 200 },
    patience,
    error: /too slowly/,
  },
  'a line without end': {
    meddle: command => (command.startsWith('UID SEARCH') ? { say: `* SEARCH ${'1 '.repeat(9 * 1024 * 1024)}` } : null),
    error: /provider/i,
  },
  'names that are no names': {
    meddle: (command, tag) =>
      command.startsWith('LIST') ? { say: `* LIST (\\Noselect "/\r\n* LIST\r\n* LIST () NIL\r\n${tag} OK\r\n` } : null,
    error: /provider|inbox/i,
  },
  'words that the database cannot hold': {
    meddle: (command, tag) => (command.startsWith('SELECT') ? { say: `${tag} NO a\0b \x07 \xff\r\n` } : null),
    error: /provider/i,
  },
  'a throttled sign-in': {
    meddle: (command, tag) =>
      command.startsWith('AUTHENTICATE')
        ? { say: `${tag} NO [UNAVAILABLE] Too many simultaneous connections\r\n` }
        : null,
    error: /asks for less/,
  },
  'a suggested back-off': {
    meddle: (command, tag) =>
      command.startsWith('UID SEARCH')
        ? { say: `${tag} BAD Request is throttled. Suggested Backoff Time: 50 milliseconds\r\n` }
        : null,
    error: /asks for less/,
  },
}

for (const [name, { meddle = () => null, drip = null, patience: short, error }] of Object.entries(faults)) {
  test(`after ${name} the mailbox is tried again later, and it is whole then`, async t => {
    const fake = await FakeImap.start()
    fake.deliver('INBOX', mail('survivor'))
    fake.meddle = meddle
    fake.drip = drip
    const limits: Partial<Patience> = { ...short }
    const connected = await connect(t, fake, { patience: limits })
    await connected.untilState('failing')
    assert.match((await connected.connection()).error ?? '', error)
    await eventually('the connection is closed', async () => fake.connections === 0)

    fake.meddle = () => null
    fake.drip = null
    if (short) Object.assign(limits, { silenceMs: 30_000, commandMs: 30_000 })
    await connected.tryAgain()

    await connected.untilState('live')
    assert.deepEqual(await subjectsOf(connected), ['survivor'])
  })
}

test('a mailbox that is numbered anew while its history is fetched is whole in the end, with the same messages', async t => {
  const fake = await FakeImap.start()
  for (const subject of numbered(300)) fake.deliver('INBOX', mail(subject), { at })
  let fetches = 0
  fake.meddle = command => {
    if (command.includes('BODY.PEEK[]') && ++fetches === 2) fake.renumber('INBOX')
    return null
  }
  const connected = await connect(t, fake)
  await connected.until('some', messages => messages.length > 0)
  const before = (await connected.messages()).map(({ id }) => id)
  await connected.untilState('failing')
  await connected.tryAgain()

  await connected.untilState('live')

  assert.deepEqual(await subjectsOf(connected), numbered(300).toSorted())
  const ids = new Set((await connected.messages()).map(({ id }) => id))
  assert.ok(before.every(id => ids.has(id)))
  await assertSynced(connected, 300)
})

test('of 600 folders 500 are mirrored, and they stay when others are made', async t => {
  const fake = await FakeImap.start()
  for (let n = 0; n < 600; n++) fake.addMailbox(`Parent/m${String(n).padStart(4, '0')}`)
  for (let n = 0; n < 600; n += 100) fake.deliver(`Parent/m${String(n).padStart(4, '0')}`, mail(`in ${n}`), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  const before = await subjectsOf(connected)
  assert.ok(before.length === 5, String(before))

  for (let n = 0; n < 50; n++) fake.addMailbox(`Parent/a${n}`)
  const rounds = (): number => fake.said.filter(command => /^LIST .*\*"?$/.test(command)).length
  const seen = rounds()
  await eventually('listed again', async () => rounds() > seen, 60_000)

  assert.deepEqual(await subjectsOf(connected), before)
  const { body } = await connected.account.api.get(`/v1/inboxes/${connected.inboxId}/folders`)
  assert.equal(body.folders.length, 505)
})

test('names of folders are decoded and made safe, and what cannot be stored is left out', async t => {
  const fake = await FakeImap.start()
  const paths = ['Entw&APw-rfe', 'broken&utf7', 'tab\there', 'nul\0here', '../../etc', 'a//b', 'all', 'x'.repeat(600)]
  for (const path of paths) fake.addMailbox(path)
  for (const path of paths) fake.deliver(path, mail(`in ${path.slice(0, 20)}`), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')

  const { body } = await connected.account.api.get(`/v1/inboxes/${connected.inboxId}/folders`)
  const names = (body.folders as { name: string; system: boolean }[]).flatMap(({ name, system }) =>
    system ? [] : name,
  )
  assert.ok(names.includes('Entwürfe'), names.join())
  for (const name of ['../../etc', 'a//b', 'tab here', 'all 2'])
    assert.ok(names.includes(name), `${name}: ${names.join()}`)
  assert.ok(
    names.every(name => !/\p{Cc}/u.test(name) && name.length <= 64),
    names.join(),
  )
  assert.equal((await connected.connection()).error, null)
  const { messages_synced, messages_total } = await connected.connection()
  assert.equal(messages_synced, messages_total)
})

test('a message of nearly 40 MiB is mirrored whole', { timeout: 110_000 }, async t => {
  const fake = await FakeImap.start()
  const line = `${'A'.repeat(76)}\r\n`
  const body = line.repeat(Math.floor((39 * 1024 * 1024) / line.length))
  const source = [
    'From: Ann <ann@example.com>',
    'Subject: large',
    'Message-ID: <large@example.com>',
    'MIME-Version: 1.0',
    'Content-Type: application/octet-stream; name=large.bin',
    'Content-Transfer-Encoding: base64',
    '',
    body,
  ].join('\r\n')
  fake.deliver('INBOX', source, { at })
  fake.deliver('INBOX', mail('after'), { at })
  const connected = await connect(t, fake)

  await eventually('live', async () => (await connected.connection()).state === 'live', 100_000)

  assert.deepEqual(await subjectsOf(connected), ['after', 'large'])
  const { db } = (await theBox()).app.world
  const stored = await db.many<{ size: number }>(sql`
    select octet_length(s.content) as size from inbox_messages m join mail_sources s on s.id = m.source_id
    where m.inbox_id = ${connected.inboxId} and m.subject = 'large' limit 1`)
  assert.equal(stored[0]!.size, source.length)
})

test('a mailbox that is emptied, filled, flagged and sorted at once is the same here in the end', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  const uids = numbered(300).map(subject => fake.deliver('INBOX', mail(subject), { at }))
  const connected = await connect(t, fake)
  await connected.until('history has begun', messages => messages.length > 0)

  uids.forEach((uid, n) => {
    if (n % 3 === 0) fake.remove('INBOX', uid)
    else if (n % 7 === 0) fake.move('INBOX', uid, 'Work')
    else if (n % 5 === 0) fake.flag('INBOX', uid, '\\Seen', true)
  })
  for (let n = 0; n < 50; n++) fake.deliver('INBOX', mail(`new ${n}`))

  await connected.untilState('live')
  await eventually('as there', async () => (await linesHere(connected)) === linesThere(fake), 60_000)
  await assertSynced(connected, fake.in('INBOX').messages.length + fake.in('Work').messages.length)
  await assertMailboxCounts((await theBox()).app.world.db)

  for (const { uid } of fake.in('INBOX').messages.slice()) fake.remove('INBOX', uid)
  await eventually('emptied', async () => (await linesHere(connected)) === linesThere(fake), 60_000)
  await assertSynced(connected, fake.in('Work').messages.length)
})

const linesHere = async ({ messages }: Connected): Promise<string> =>
  (await messages())
    .map(({ folder, subject, is_read }) => `${folder} ${subject} ${is_read}`)
    .toSorted()
    .join('\n')

const linesThere = (fake: FakeImap): string =>
  ['INBOX', 'Work']
    .flatMap(path =>
      fake.in(path).messages.map(({ source, flags }) => {
        const subject = /Subject: (.*)\r\n/.exec(source.toString())![1]!
        return `${path === 'INBOX' ? 'inbox' : path} ${subject} ${flags.has('\\Seen')}`
      }),
    )
    .toSorted()
    .join('\n')
