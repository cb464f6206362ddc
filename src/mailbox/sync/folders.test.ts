// Folders of a connected inbox and of its mailbox at the provider stay the same, whichever side changes them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../platform/db/sql.ts'
import { eventually } from '../../../test/support/factories.ts'
import { assertMailboxCounts } from '../../../test/support/mailbox.ts'
import { FakeImap } from '../imap/imap.fixture.ts'
import { theBox } from '../../../test/support/box.ts'
import { connect, mail, type Connected } from './connected.fixture.ts'
import { setDue } from './sync.fixture.ts'

const at = new Date('2024-03-01T10:00:00Z')

/** Names of its own folders, with how many messages they have. */
async function foldersOf({ account, inboxId }: Connected): Promise<Record<string, number>> {
  const { body } = await account.api.get(`/v1/inboxes/${inboxId}/folders`)
  const own = (body.folders as { name: string; system: boolean; total: number }[]).filter(({ system }) => !system)
  return Object.fromEntries(own.map(({ name, total }) => [name, total]))
}

const untilFolders = (connected: Connected, wanted: Record<string, number>): Promise<unknown> =>
  eventually(
    `folders ${JSON.stringify(wanted)}`,
    async () => JSON.stringify(await foldersOf(connected)) === JSON.stringify(wanted),
    30_000,
  )

const untilPaths = (fake: FakeImap, wanted: string[]): Promise<unknown> =>
  eventually(
    `mailboxes ${wanted.join()}`,
    async () => JSON.stringify(ownPaths(fake)) === JSON.stringify(wanted),
    30_000,
  )

const SYSTEM = new Set(['INBOX', 'Sent', 'Archive', 'Junk', 'Trash', 'Drafts'])
const ownPaths = (fake: FakeImap): string[] => [...fake.mailboxes.keys()].filter(path => !SYSTEM.has(path)).toSorted()

const subjectsIn = (fake: FakeImap, path: string): string[] =>
  fake.in(path).messages.map(({ source }) => /Subject: (.*)\r\n/.exec(source.toString())![1]!)

const folderUrl = ({ inboxId }: Connected, name: string): string =>
  `/v1/inboxes/${inboxId}/folders/${encodeURIComponent(name)}`

test('a folder that is made, renamed and deleted here is so at the provider', async t => {
  const fake = await FakeImap.start()
  fake.deliver('INBOX', mail('one'), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  const { api } = connected.account
  const [message] = await connected.messages()

  assert.equal((await api.post(`/v1/inboxes/${connected.inboxId}/folders`, { name: 'Work' })).status, 201)
  await untilPaths(fake, ['Work'])
  await api.post(`/v1/inbox-messages/${message!.id}/move`, { folder: 'Work' })
  await eventually('moved there', async () => fake.in('Work').messages.length === 1)
  assert.equal((await api.patch(folderUrl(connected, 'Work'), { name: 'Job' })).status, 200)
  await untilPaths(fake, ['Job'])
  assert.deepEqual(subjectsIn(fake, 'Job'), ['one'])
  assert.equal((await api.delete(`${folderUrl(connected, 'Job')}?move_to=archive`)).status, 200)
  await untilPaths(fake, [])

  assert.deepEqual(subjectsIn(fake, 'Archive'), ['one'])
  const found = await connected.messages()
  assert.deepEqual(
    found.map(({ id, folder }) => [id, folder]),
    [[message!.id, 'archive']],
  )
  await eventually('its row is gone', async () => {
    const { db } = (await theBox()).app.world
    const rows = await db.many(sql`
      select id from remote_folders where inbox_id = ${connected.inboxId} and path = 'Job' limit 1`)
    return rows.length === 0
  })
  assert.deepEqual(await foldersOf(connected), {})
})

test('what was done to folders here while no session was there is done there when one begins', async t => {
  const fake = await FakeImap.start()
  for (const path of ['Old', 'Spare', 'Stays']) fake.addMailbox(path)
  fake.deliver('Old', mail('old'), { at })
  fake.deliver('Spare', mail('spare'), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  await connected.stop()
  const { api } = connected.account

  await api.patch(folderUrl(connected, 'Old'), { name: 'New/Name' })
  assert.equal(
    (await api.delete(`${folderUrl(connected, 'Spare')}?move_to=${encodeURIComponent('New/Name')}`)).status,
    200,
  )
  await api.post(`/v1/inboxes/${connected.inboxId}/folders`, { name: 'Made' })
  await connected.start()

  await untilPaths(fake, ['Made', 'New/Name', 'Stays'])
  assert.deepEqual(subjectsIn(fake, 'New/Name').toSorted(), ['old', 'spare'])
  await untilFolders(connected, { Made: 0, 'New/Name': 2, Stays: 0 })
})

test('a folder that is made, renamed and deleted at the provider is so here, with its messages', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  fake.addMailbox('Work/Deep')
  for (const subject of ['one', 'two']) fake.deliver('Work', mail(subject), { at })
  fake.deliver('Work/Deep', mail('three'), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  const before = await connected.messages()

  fake.addMailbox('Made')
  fake.rename('Work', 'Job')
  await untilFolders(connected, { Job: 2, 'Job/Deep': 1, Made: 0 })
  const renamed = await connected.messages()
  // Nothing was fetched, filed or moved: it is the same folder.
  assert.deepEqual(
    renamed.map(({ id }) => id),
    before.map(({ id }) => id),
  )
  assert.deepEqual(await connected.events('message.updated'), [])

  fake.mailboxes.delete('Job')
  fake.mailboxes.delete('Made')
  await untilFolders(connected, { 'Job/Deep': 1 })
  await connected.until('what was in it is gone', messages => messages.length === 1)
  const changes = (await connected.events('inbox.updated')).filter(data => String(data['changed']) === 'folders')
  assert.ok(changes.length >= 2, 'the streams tell of it')
  await assertMailboxCounts((await theBox()).app.world.db)
})

test('a folder that the provider numbers anew when it is renamed takes its messages along', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  fake.deliver('Work', mail('one'), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  const [before] = await connected.messages()

  fake.rename('Work', 'Job')
  fake.in('Job').uidValidity += 100

  await untilFolders(connected, { Job: 1 })
  assert.deepEqual(
    (await connected.messages()).map(({ id }) => id),
    [before!.id],
  )
})

test('renamed on both sides, a folder has the name that the provider gave it', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  fake.deliver('Work', mail('one'), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  await connected.stop()

  await connected.account.api.patch(folderUrl(connected, 'Work'), { name: 'Ours' })
  fake.rename('Work', 'Theirs')
  await connected.start()

  await untilFolders(connected, { Theirs: 1 })
  assert.deepEqual(ownPaths(fake), ['Theirs'])
})

test('mail that came into a folder there after it was deleted here is kept, and brings the folder back', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  fake.deliver('Work', mail('known'), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  await connected.stop()

  await connected.account.api.delete(`${folderUrl(connected, 'Work')}?move_to=archive`)
  fake.deliver('Work', mail('late'))
  await connected.start()

  await untilFolders(connected, { Work: 1 })
  await eventually('the other one is archived there', async () => fake.in('Archive').messages.length === 1)
  assert.deepEqual(subjectsIn(fake, 'Work'), ['late'])
  assert.deepEqual(subjectsIn(fake, 'Archive'), ['known'])
})

test('a name that the provider refuses stays here, and a folder that it refuses to delete comes back', async t => {
  const fake = await FakeImap.start()
  for (const path of ['One', 'Two', 'Drafts/x']) fake.addMailbox(path)
  const connected = await connect(t, fake)
  await connected.untilState('live')
  fake.meddle = (command, tag) =>
    /^(RENAME|DELETE)/.test(command) ? { say: `${tag} NO [NOPERM] not yours\r\n` } : null
  const { api } = connected.account

  await api.patch(folderUrl(connected, 'One'), { name: 'Uno' })
  await api.delete(folderUrl(connected, 'Two'))
  await api.post(`/v1/inboxes/${connected.inboxId}/folders`, { name: '50 %* off' })

  await untilPaths(fake, ['50 -- off', 'Drafts/x', 'One', 'Two'])
  await untilFolders(connected, { '50 %* off': 0, 'Drafts/x': 0, Two: 0, Uno: 0 })
  await eventually('asked once', async () => fake.said.filter(command => command.startsWith('RENAME')).length === 1)
  assert.equal((await connected.connection()).state, 'live')

  fake.meddle = (command, tag) => (command.startsWith('CREATE') ? { say: `${tag} NO [NOPERM] no more\r\n` } : null)
  await api.post(`/v1/inboxes/${connected.inboxId}/folders`, { name: 'Only here' })
  await eventually('asked for', async () => fake.said.includes('CREATE "Only here"'))
  fake.deliver('INBOX', mail('news'))
  await connected.until('the news', messages => messages.length === 1)
  assert.equal((await connected.connection()).state, 'live')
})

test('a list that lacks folders, or the inbox, removes nothing while they can be opened', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  fake.deliver('Work', mail('kept'), { at })
  fake.deliver('INBOX', mail('kept too'), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  await connected.stop()

  fake.meddle = (command, tag) =>
    /^LIST .*\*"?$/.test(command) ? { say: `* LIST () "/" "INBOX"\r\n${tag} OK done\r\n` } : null
  await connected.start()
  fake.deliver('INBOX', mail('third'))
  await connected.until('the third', messages => messages.length === 3)
  const rounds = fake.said.length
  await eventually('a few rounds', async () => fake.said.length > rounds + 60)
  assert.equal((await connected.messages()).length, 3)
  await connected.stop()

  fake.meddle = (command, tag) => (/^LIST .*\*"?$/.test(command) ? { say: `${tag} OK done\r\n` } : null)
  await connected.start()
  await connected.untilState('failing')
  assert.match((await connected.connection()).error ?? '', /no inbox/)
  assert.equal((await connected.messages()).length, 3)
  fake.meddle = () => null
  const { world } = (await theBox()).app
  await setDue(world, connected.inboxId, world.clock.now())
  world.wakeups.hint('connections')
  await connected.untilState('live')
  assert.deepEqual(await foldersOf(connected), { Work: 1 })
})
