// Both sides agree in the end: copies of one message, what is removed here while the provider is at it, folders that are numbered
// anew, a provider that refuses or withholds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { theBox } from '../../../test/support/box.ts'
import { eventually } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { FakeImap } from '../imap/imap.fixture.ts'
import { connect, mail, untilLookedThrough, type Connected } from './connected.fixture.ts'

const at = new Date('2024-03-01T10:00:00Z')

const subjectOf = (source: string): string => /Subject: (.*)\r\n/.exec(source)![1]!
const there = (fake: FakeImap): string[] =>
  [...fake.mailboxes.values()].flatMap(({ path, messages }) =>
    messages.map(({ source }) => `${path}: ${subjectOf(source.toString())}`),
  )
const here = async ({ messages }: Connected): Promise<string[]> =>
  (await messages()).map(({ subject, folder }) => `${folder}: ${subject}`)

/** Where folders are labels, and there is no archive. */
async function aLabelProvider(): Promise<FakeImap> {
  const fake = await FakeImap.start()
  fake.mailboxes.delete('Archive')
  fake.capabilities += ' X-GM-EXT-1'
  return fake
}

const removeForGood = async ({ account }: Connected, id: string): Promise<void> =>
  assert.equal((await account.api.delete(`/v1/inbox-messages/${id}?permanent=true`)).status, 200)

/** For good: it does not come back with the next looks either. */
async function untilGone(connected: Connected, fake: FakeImap): Promise<void> {
  await eventually('gone on both sides', async () => there(fake).length === 0 && (await here(connected)).length === 0)
  await untilLookedThrough(fake)
  assert.deepEqual([await here(connected), there(fake)], [[], []])
  assert.deepEqual([(await connected.connection()).state, (await connected.connection()).error], ['live', null])
}

test('copies of one message far apart in a folder are messages of their own, one of which is known', async t => {
  const fake = await FakeImap.start()
  const copy = mail('copy')
  fake.deliver('INBOX', copy, { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  await connected.until('one', found => found.length === 1)
  await connected.stop()
  fake.addMailbox('Label')
  fake.deliver('Label', copy, { at })
  for (let n = 0; n < 127; n++) fake.deliver('Label', mail(`f ${n}`), { at })
  fake.deliver('Label', copy, { at })

  await connected.start()

  const found = await connected.until('all', messages => messages.length === 129)
  assert.equal(found.filter(({ subject }) => subject === 'copy').length, 2)
  await eventually('all are counted', async () => (await connected.connection()).messages_synced === 130)
})

test('what is removed for good while the provider moves it is removed in the target', async t => {
  const fake = await FakeImap.start()
  fake.deliver('INBOX', mail('doomed'))
  const connected = await connect(t, fake)
  const [message] = await connected.until('it', found => found.length === 1)
  await connected.untilState('live')
  fake.drip = { command: 'UID MOVE', everyMs: 30 }
  await connected.account.api.post(`/v1/inbox-messages/${message!.id}/move`, { folder: 'archive' })
  await eventually('being moved', () => fake.said.some(command => command.startsWith('UID MOVE')))

  await removeForGood(connected, message!.id)
  fake.drip = null

  await untilGone(connected, fake)
})

test('what is removed for good behind a move whose new UIDs nobody tells is removed all the same', async t => {
  const fake = await FakeImap.start()
  fake.capabilities = fake.capabilities.replace(' UIDPLUS', '')
  fake.deliver('INBOX', mail('doomed'))
  const connected = await connect(t, fake)
  const [message] = await connected.until('it', found => found.length === 1)
  await connected.untilState('live')
  await connected.account.api.post(`/v1/inbox-messages/${message!.id}/move`, { folder: 'archive' })
  await eventually('moved', () => fake.in('Archive').messages.length === 1)

  await removeForGood(connected, message!.id)

  // Without UIDPLUS it is marked as deleted, and others expunge it.
  await eventually('marked', () => fake.in('Archive').messages[0]!.flags.has('\\Deleted'))
  await untilLookedThrough(fake)
  assert.deepEqual(await here(connected), [])
})

test('what is removed for good is gone also where the connection breaks on the way to the trash', async t => {
  const fake = await aLabelProvider()
  fake.deliver('INBOX', mail('doomed'))
  const connected = await connect(t, fake)
  const [message] = await connected.until('it', found => found.length === 1)
  await connected.untilState('live')
  let breaks = true
  fake.meddle = command => {
    if (!breaks || !command.startsWith('UID MOVE')) return null
    breaks = false
    fake.move('INBOX', 1, 'Trash')
    return { say: '', close: true }
  }

  await removeForGood(connected, message!.id)
  await connected.untilState('failing')
  await connected.tryAgain()

  await untilGone(connected, fake)
})

test('a second label that is being fetched goes with a message that is removed for good meanwhile', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  fake.deliver('INBOX', mail('doomed'))
  const connected = await connect(t, fake)
  const [message] = await connected.until('it', found => found.length === 1)
  await connected.untilState('live')
  const [original] = fake.in('INBOX').messages
  fake.drip = { command: 'UID FETCH', everyMs: 1 }
  const work = fake.in('Work')
  work.messages.push({ ...original!, flags: new Set(original!.flags), uid: work.uidNext++ })
  fake.deliver('Work', mail('other', { body: 'x'.repeat(1_500) }))
  await eventually('being fetched', () =>
    fake.said.some(command => command.startsWith('UID FETCH 2 ') && command.includes('BODY.PEEK[]')),
  )

  await removeForGood(connected, message!.id)
  fake.drip = null

  await eventually('gone there', () => there(fake).join() === 'Work: other')
  await untilLookedThrough(fake)
  assert.deepEqual(await here(connected), ['Work: other'])
})

test('a folder that is numbered anew undoes nothing that was done here meanwhile', async t => {
  const fake = await FakeImap.start()
  for (let n = 0; n < 5; n++) fake.deliver('INBOX', mail(`m${n}`), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  const found = await connected.until('five', messages => messages.length === 5)
  await connected.stop()
  const { api } = connected.account
  const path = (subject: string): string => `/v1/inbox-messages/${found.find(each => each.subject === subject)!.id}`
  assert.equal((await api.post(`${path('m1')}/move`, { folder: 'archive' })).status, 200)
  assert.equal((await api.delete(path('m2'))).status, 200)
  assert.equal((await api.post(`${path('m3')}/read`, { read: true })).status, 200)
  assert.equal((await api.delete(`${path('m4')}?permanent=true`)).status, 200)
  fake.renumber('INBOX')

  await connected.start()

  const done = ['Archive: m1', 'INBOX: m0', 'INBOX: m3', 'Trash: m2']
  await eventually('done there too', () => there(fake).toSorted().join() === done.join())
  await eventually('read there too', () => fake.in('INBOX').messages.some(({ flags }) => flags.has('\\Seen')))
  await untilLookedThrough(fake)
  assert.deepEqual((await here(connected)).toSorted(), ['archive: m1', 'inbox: m0', 'inbox: m3', 'trash: m2'])
})

test('what is read here while the provider moves it is read there in the end', async t => {
  const fake = await FakeImap.start()
  for (let n = 0; n < 60; n++) fake.addMailbox(`F${n}`)
  fake.deliver('INBOX', mail('m'), { at })
  const connected = await connect(t, fake)
  await connected.untilState('live')
  const [message] = await connected.until('it', messages => messages.length === 1)
  const { db } = (await theBox()).app.world
  fake.move('INBOX', 1, 'F59')
  fake.tell()
  await eventually('lost', () =>
    db.maybe(sql`select uid from remote_messages where inbox_id = ${connected.inboxId} and uid <= 0`),
  )
  await connected.account.api.post(`/v1/inbox-messages/${message!.id}/read`, { read: true })

  await eventually('read there', () => fake.in('F59').messages[0]!.flags.has('\\Seen'))
})

test('a provider that sends more than it says is left alone, and takes no memory', async t => {
  const fake = await FakeImap.start()
  for (let n = 0; n < 4; n++) {
    fake.deliver('INBOX', mail(`m ${n}`, { body: 'x'.repeat(2_000_000) }), { at })
    fake.in('INBOX').messages.at(-1)!.size = 100
  }
  const connected = await connect(t, fake)
  await connected.untilState('failing')
  assert.match((await connected.connection()).error!, /more than it says/)
})

test('copies that are archived together stay two, and the mirror goes on', async t => {
  const fake = await aLabelProvider()
  fake.addMailbox('All', '\\All')
  const source = mail('twice')
  const uids = [fake.deliver('INBOX', source, { at }), fake.deliver('INBOX', source, { at })]
  for (const _ of uids) fake.deliver('All', source, { at })
  fake.deliver('INBOX', mail('stays'))
  const connected = await connect(t, fake)
  await connected.until('three', found => found.length === 3)
  await connected.untilState('live')

  for (const uid of uids) fake.remove('INBOX', uid)

  await connected.until('archived', found => found.filter(({ folder }) => folder === 'archive').length === 2)
  fake.deliver('INBOX', mail('later'))
  await connected.until('later', found => found.length === 4)
  assert.equal((await connected.connection()).state, 'live')
})

test('a trash that is numbered anew loses no other message to a removal', async t => {
  const fake = await aLabelProvider()
  fake.deliver('INBOX', mail('doomed'))
  for (let n = 0; n < 3; n++) fake.deliver('Trash', mail(`trash ${n}`), { at })
  const connected = await connect(t, fake)
  const found = await connected.until('all', messages => messages.length === 4)
  await connected.untilState('live')
  await connected.stop()
  for (const subject of ['trash 1', 'doomed'])
    await removeForGood(connected, found.find(each => each.subject === subject)!.id)
  let isSame = true
  fake.meddle = command => {
    if (!isSame || !command.startsWith('UID MOVE')) return null
    isSame = false
    const trash = fake.in('Trash')
    trash.uidValidity += 1_000
    trash.messages.push(trash.messages.shift()!)
    trash.messages.forEach((each, n) => (each.uid = n + 1))
    return null
  }

  await connected.start()

  await eventually('removed', () => there(fake).toSorted().join() === 'Trash: trash 0,Trash: trash 2')
  await untilLookedThrough(fake)
  assert.deepEqual((await here(connected)).toSorted(), ['trash: trash 0', 'trash: trash 2'])
})

test('changes that a provider refuses, however many, keep no other change from it', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Shared')
  for (let n = 0; n < 510; n++) fake.deliver('Shared', mail(`s ${n}`), { at })
  fake.deliver('INBOX', mail('other'))
  const connected = await connect(t, fake)
  await connected.untilState('live')
  const found = await connected.until('all', messages => messages.length === 511)
  await connected.stop()
  let selected = ''
  fake.meddle = (command, tag) => {
    if (command.startsWith('SELECT')) selected = command
    const isRefused = command.startsWith('UID STORE') && selected.includes('Shared')
    return isRefused ? { say: `${tag} NO [NOPERM] read-only\r\n` } : null
  }
  const { db } = (await theBox()).app.world
  await db.transact(system('test'), tx =>
    tx.run(sql`update inbox_messages set is_read = true where inbox_id = ${connected.inboxId} and subject like 's %'`),
  )
  const { id } = found.find(({ subject }) => subject === 'other')!
  await connected.account.api.post(`/v1/inbox-messages/${id}/read`, { read: true })

  await connected.start()

  await eventually('pushed', () => fake.in('INBOX').messages[0]!.flags.has('\\Seen'))
})

test('a message that the provider withholds once is fetched again, and one that it always withholds is shown so', async t => {
  const fake = await FakeImap.start()
  for (let n = 0; n < 3; n++) fake.deliver('INBOX', mail(`m ${n}`), { at })
  let withheld = 0
  fake.meddle = (command, tag) => {
    if (!command.startsWith('UID FETCH') || !command.includes('BODY.PEEK[]')) return null
    // The first time nothing, then all but the last.
    if (withheld++ === 0) return { say: `* 1 FETCH (UID 1 BODY[] NIL)\r\n${tag} OK done\r\n` }
    const given = fake.in('INBOX').messages.slice(0, 2)
    const lines = given.map(
      ({ uid, source }, n) => `* ${n + 1} FETCH (UID ${uid} BODY[] {${source.length}}\r\n${source.toString()})\r\n`,
    )
    return { say: `${lines.join('')}${tag} OK done\r\n` }
  }
  const connected = await connect(t, fake)

  const found = await connected.until('three', messages => messages.length === 3)

  assert.deepEqual(found.map(({ subject }) => subject).toSorted(), ['', 'm 0', 'm 1'])
  const { id } = found.find(({ subject }) => subject === '')!
  const { body } = await connected.account.api.get(`/v1/inbox-messages/${id}`)
  assert.match(body.text, /did not hand it out/)
})

test('what was removed for good before a legal hold is not removed at the provider until the hold is lifted', async t => {
  const fake = await FakeImap.start()
  fake.deliver('INBOX', mail('evidence'), { at })
  const connected = await connect(t, fake)
  const [message] = await connected.until('one', found => found.length === 1)
  await connected.untilState('live')
  await connected.stop()
  await removeForGood(connected, message!.id)
  const { api } = connected.account
  await api.patch('/v1/account', { legal_hold: true })

  await connected.start()
  await connected.untilState('live')
  await untilLookedThrough(fake)
  assert.deepEqual([await here(connected), there(fake)], [[], ['INBOX: evidence']])

  await connected.stop()
  await api.patch('/v1/account', { legal_hold: false })
  await connected.start()
  await untilGone(connected, fake)
})

test('a legal hold that comes while changes are on their way to the provider stops a removal until it is lifted', async t => {
  const fake = await FakeImap.start()
  for (const subject of ['evidence', 'moved']) fake.deliver('Archive', mail(subject), { at })
  const connected = await connect(t, fake)
  const found = await connected.until('both', messages => messages.length === 2)
  await connected.untilState('live')
  await connected.stop()
  const { api } = connected.account
  const idOf = (subject: string) => found.find(message => message.subject === subject)!.id
  await api.post(`/v1/inbox-messages/${idOf('moved')}/move`, { folder: 'inbox' })
  await removeForGood(connected, idOf('evidence'))

  fake.drip = { command: 'UID MOVE', everyMs: 30 }
  await connected.start()
  await eventually('being moved', () => fake.said.some(command => command.startsWith('UID MOVE')))
  await api.patch('/v1/account', { legal_hold: true })
  fake.drip = null
  await connected.untilState('live')
  await untilLookedThrough(fake)
  assert.deepEqual(there(fake), ['INBOX: moved', 'Archive: evidence'])

  await api.patch('/v1/account', { legal_hold: false })
  await eventually('removed', () => there(fake).join() === 'INBOX: moved')
})
