// A connected inbox mirrors its mailbox at the provider, both ways.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { eventually, unique } from '../../../test/support/factories.ts'
import { aFiledMessage, assertMailboxCounts } from '../../../test/support/mailbox.ts'
import { FakeImap, type Meddle } from '../imap/imap.fixture.ts'
import { theBox } from '../../../test/support/box.ts'
import { connect, mail } from './connected.fixture.ts'
import { insertConnection, setDue } from './sync.fixture.ts'

test('history is mirrored with folders, dates and flags, and nobody is told of it', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  const at = new Date('2024-03-01T10:00:00Z')
  fake.deliver('INBOX', mail('old'), { flags: ['\\Seen'], at })
  fake.deliver('INBOX', mail('unread'), { at })
  fake.deliver('Sent', mail('mine', { from: 'jane@gmail.test' }), { at, flags: ['\\Seen'] })
  fake.deliver('Work', mail('project'), { at })
  fake.deliver('Trash', mail('rubbish'), { at })
  fake.deliver('Drafts', mail('unfinished'), { at })
  const { until, untilState, events, connection } = await connect(t, fake)

  const found = await until('everything mirrored', messages => messages.length === 5)
  await untilState('live')

  const shown = Object.fromEntries(
    found.map(({ subject, folder, direction, is_read }) => [subject, [folder, direction, is_read]]),
  )
  assert.deepEqual(shown, {
    old: ['inbox', 'in', true],
    unread: ['inbox', 'in', false],
    mine: ['sent', 'out', true],
    project: ['Work', 'in', false],
    rubbish: ['trash', 'in', false],
  })
  assert.ok(found.every(message => message.received_at.getTime() === at.getTime()))
  assert.deepEqual(await events('message.received'), [])
  const { messages_synced, messages_total } = await connection()
  assert.deepEqual([messages_synced, messages_total], [5, 5])
  const told = (await events('inbox.updated')).filter(data => data['connection'])
  const states = told.map(data => (data['connection'] as { state: string }).state)
  assert.deepEqual([states[0], states.at(-1)], ['syncing', 'live'])
  await assertMailboxCounts((await theBox()).app.world.db)
})

test('a reply to mail that was sent at the provider to more people than are kept is refused', async t => {
  const fake = await FakeImap.start()
  // Nobody can write to the first one.
  const people = ['a..b@example.com', ...Array.from({ length: 1_500 }, (_, n) => `u${n}@example.com`)]
  fake.deliver('Sent', mail('many', { from: 'jane@gmail.test', to: people.join(',\r\n ') }))
  const { account, until } = await connect(t, fake)
  const [message] = await until('mirrored', messages => messages.length === 1)

  const { body } = await account.api.post(`/v1/inbox-messages/${message!.id}/reply`, { text: 'x' })
  assert.equal(body.error.code, 'too_many_recipients')
})

test('mail that comes later is told of as received, within a second', async t => {
  const fake = await FakeImap.start()
  const { until, untilState, events } = await connect(t, fake)
  await untilState('live')
  await eventually('waiting in the inbox', async () => fake.said.at(-1) === 'IDLE')

  const began = performance.now()
  fake.deliver('INBOX', mail('news'))
  const [message] = await until('news', messages => messages.length === 1)
  const took = performance.now() - began

  assert.deepEqual([message!.folder, message!.is_read], ['inbox', false])
  const [received] = await events('message.received')
  assert.equal(received?.['subject'], 'news')
  assert.ok(took < 1_000, `${took} ms`)
})

test('neither the mailbox nor the address of the inbox here is a participant of what is mirrored', async t => {
  const fake = await FakeImap.start()
  const { account, inboxId, until, untilState } = await connect(t, fake)
  await untilState('live')
  const { address } = (await account.api.get(`/v1/inboxes/${inboxId}`)).body
  fake.deliver('INBOX', mail('copied').replace('To: jane@gmail.test', `To: jane@gmail.test, ${address}`))
  await until('it is here', messages => messages.length === 1)
  const { threads } = (await account.api.get(`/v1/inboxes/${inboxId}/threads`)).body
  assert.deepEqual(threads[0].participants, ['ann@example.com'])
})

test('mail that a look into the open mailbox counted before it could be seen there is mirrored at once', async t => {
  const fake = await FakeImap.start()
  fake.isLazy = true
  fake.deliver('INBOX', mail('first'))
  const { until, untilState } = await connect(t, fake)
  await untilState('live')
  const isLook = (command: string): boolean => command.startsWith('STATUS INBOX')
  fake.meddle = command => {
    if (!isLook(command) || fake.in('INBOX').messages.length > 1) return null
    fake.deliver('INBOX', mail('counted'))
    return null
  }

  await until('both', messages => messages.length === 2)

  const after = fake.said.slice(fake.said.findIndex(isLook))
  assert.ok(after.filter(isLook).length <= 3, 'rather than when the mailbox is opened anyway')
})

test('read flags and moves of the provider are taken over, and what is gone there is gone here', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  const [first, second, third] = ['one', 'two', 'three'].map(subject => fake.deliver('INBOX', mail(subject)))
  const { until, untilState } = await connect(t, fake)
  await until('three messages', messages => messages.length === 3)
  await untilState('live')

  fake.flag('INBOX', first!, '\\Seen', true)
  fake.move('INBOX', second!, 'Work')
  fake.remove('INBOX', third!)

  const found = await until(
    'changes',
    messages => messages.length === 2 && messages.some(({ folder }) => folder === 'Work'),
  )
  const shown = found.map(({ subject, folder, is_read }) => [subject, folder, is_read]).toSorted()
  assert.deepEqual(shown, [
    ['one', 'inbox', true],
    ['two', 'Work', false],
  ])
  await assertMailboxCounts((await theBox()).app.world.db)
})

test('mail that is moved at the provider into a folder that is new there stays the same message', async t => {
  const fake = await FakeImap.start()
  const uids = ['one', 'two', 'three'].map(subject => fake.deliver('INBOX', mail(subject)))
  const { until, untilState, events } = await connect(t, fake)
  const before = await until('three messages', messages => messages.length === 3)
  await untilState('live')
  const told = (await events('message.received')).length

  // More than one, because every few looks the folders are listed anyway.
  for (const [n, uid] of uids.entries()) {
    fake.addMailbox(`Project ${n}`)
    fake.move('INBOX', uid, `Project ${n}`)
    await until('it is moved', messages => messages.some(({ folder }) => folder === `Project ${n}`))
  }

  const after = await until('all are moved', messages => messages.every(({ folder }) => folder.startsWith('Project')))
  assert.deepEqual(after.map(({ id }) => id).toSorted(), before.map(({ id }) => id).toSorted())
  assert.equal((await events('message.received')).length, told)
})

test('what is read, moved, trashed and removed here is so at the provider', async t => {
  const fake = await FakeImap.start()
  for (const subject of ['read', 'move', 'trash', 'remove']) fake.deliver('INBOX', mail(subject))
  const { account, inboxId, until, untilState } = await connect(t, fake)
  const found = await until('four messages', messages => messages.length === 4)
  await untilState('live')
  const idOf = (subject: string): string => found.find(message => message.subject === subject)!.id
  const { api } = account
  assert.equal((await api.post(`/v1/inboxes/${inboxId}/folders`, { name: 'Projects' })).status, 201)

  await api.post(`/v1/inbox-messages/${idOf('read')}/read`, { read: true })
  assert.equal((await api.post(`/v1/inbox-messages/${idOf('move')}/move`, { folder: 'Projects' })).status, 200)
  assert.equal((await api.delete(`/v1/inbox-messages/${idOf('trash')}`)).status, 200)
  assert.equal((await api.delete(`/v1/inbox-messages/${idOf('remove')}?permanent=true`)).status, 200)

  await eventually('all of it at the provider', async () => {
    const inbox = fake.in('INBOX').messages
    return inbox.length === 1 && inbox[0]!.flags.has('\\Seen')
  })
  const subjectsIn = (path: string): (string | undefined)[] =>
    fake.in(path).messages.map(({ source }) => /Subject: (.*)\r\n/.exec(source.toString())?.[1])
  assert.deepEqual(subjectsIn('INBOX'), ['read'])
  assert.deepEqual(subjectsIn('Projects'), ['move'])
  assert.deepEqual(subjectsIn('Trash'), ['trash'])
  assert.equal((await until('no more', messages => messages.length === 3)).length, 3)
})

test('a change that the provider refuses stays here, and everything else is mirrored', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  for (const subject of ['one', 'two']) fake.deliver('INBOX', mail(subject))
  const { account, until, untilState } = await connect(t, fake)
  const [first] = await until('two messages', messages => messages.length === 2)
  await untilState('live')
  fake.meddle = (command, tag) => (command.startsWith('UID STORE') ? { say: `${tag} NO [NOPERM] read-only\r\n` } : null)

  await account.api.post(`/v1/inbox-messages/${first!.id}/read`, { read: true })
  await eventually('it is asked', async () => fake.said.some(command => command.startsWith('UID STORE')))
  const second = (await until('both', messages => messages.length === 2)).find(({ id }) => id !== first!.id)!
  await account.api.post(`/v1/inbox-messages/${second.id}/move`, { folder: 'Work' })
  await eventually('the other is moved there', async () => fake.in('Work').messages.length === 1)
  fake.deliver('INBOX', mail('three'))

  const found = await until('a third', messages => messages.length === 3)
  assert.equal(found.find(({ id }) => id === first!.id)!.is_read, true)
  assert.equal(fake.said.filter(command => command.startsWith('UID STORE')).length, 1)
  await untilState('live')
})

test('what was changed at the provider wins over what was changed here meanwhile', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Work')
  const uid = fake.deliver('INBOX', mail('both'))
  const { account, until, untilState, stop, start } = await connect(t, fake)
  const [message] = await until('it', messages => messages.length === 1)
  await untilState('live')
  await stop()

  await account.api.post(`/v1/inbox-messages/${message!.id}/move`, { folder: 'archive' })
  fake.move('INBOX', uid, 'Work')
  await start()

  await until('as the provider has it', messages => messages[0]?.folder === 'Work')
  assert.equal(fake.in('Archive').messages.length, 0)
  assert.equal(fake.in('Work').messages.length, 1)
})

test('a folder that is numbered anew is read again, and nothing is doubled, lost or told of', async t => {
  const fake = await FakeImap.start()
  const at = new Date('2024-03-01T10:00:00Z')
  for (const subject of ['a', 'b', 'c']) fake.deliver('INBOX', mail(subject), { at })
  fake.deliver('INBOX', 'From: nobody\r\nSubject: bare\r\n\r\nNo Message-ID.\r\n', { at })
  const { until, untilState, messages, events, stop, start } = await connect(t, fake)
  const before = await until('four messages', found => found.length === 4)
  await untilState('live')
  await stop()

  fake.renumber('INBOX')
  fake.deliver('INBOX', mail('while away'))
  await start()

  await until('the fifth', found => found.length === 5)
  await eventually('read again', async () => {
    const rows = await (
      await theBox()
    ).app.world.db.many<{ uid: number }>(
      sql`select uid from remote_messages where message_id = any(${before.map(({ id }) => id)}::uuid[]) limit 100`,
    )
    return rows.length === 4 && rows.every(({ uid }) => uid >= 1000)
  })
  const ids = new Set((await messages()).map(({ id }) => id))
  assert.ok(before.every(({ id }) => ids.has(id)))
  assert.equal(ids.size, 5)
  assert.deepEqual(
    (await events('message.received')).map(data => data['subject']),
    ['while away'],
  )
})

test('two copies with one Message-ID in a folder are two messages, in two folders one', async t => {
  const fake = await FakeImap.start()
  fake.addMailbox('Label')
  const [doubled, labelled] = [mail('doubled'), mail('labelled')]
  for (const source of [doubled, doubled, labelled]) fake.deliver('INBOX', source)
  fake.deliver('Label', labelled)
  const { until, untilState } = await connect(t, fake)
  await untilState('live')

  const found = await until('mirrored', messages => messages.length >= 3)

  assert.deepEqual(found.map(({ subject }) => subject).toSorted(), ['doubled', 'doubled', 'labelled'])
})

test('mail that leaves the inbox and is still in all mail is archived', async t => {
  const fake = await FakeImap.start()
  fake.mailboxes.delete('Archive')
  fake.addMailbox('All', '\\All')
  const source = mail('kept')
  const uid = fake.deliver('INBOX', source)
  fake.deliver('All', source)
  fake.deliver('All', mail('never in a folder'))
  const { until, untilState } = await connect(t, fake)
  await until('it', messages => messages.length === 1)
  await untilState('live')

  fake.remove('INBOX', uid)

  await until('archived', messages => messages[0]?.folder === 'archive')
  fake.deliver('INBOX', source)
  await until('back in the inbox', messages => messages.length === 1 && messages[0]!.folder === 'inbox')
})

test('the copy of what was sent from here is recognised in the folder of sent mail', async t => {
  const fake = await FakeImap.start()
  const { inboxId, untilState, messages, connection } = await connect(t, fake)
  await untilState('live')
  const box = await theBox()
  const sent = await aFiledMessage(box, inboxId, { folder: 'sent', direction: 'out', read: true, subject: 'composed' })
  const id = unique('composed')
  const { db } = box.app.world
  await db.transact(system('test'), async tx => {
    await tx.run(sql`update inbox_messages set rfc_message_id = ${`<${id}@example.com>`} where id = ${sent.id}`)
    await tx.run(sql`
      insert into thread_references (inbox_id, rfc_id, thread_id)
      values (${inboxId}, substring(sha256(convert_to(${`<${id}@example.com>`}, 'UTF8')) for 16), ${sent.threadId})`)
  })

  fake.deliver('Sent', mail('composed', { id, from: 'jane@gmail.test' }), { flags: ['\\Seen'] })
  fake.deliver('Sent', mail('from a telephone', { from: 'jane@gmail.test' }), { flags: ['\\Seen'] })

  await eventually('both known', async () => (await connection()).messages_synced === 2)
  const found = await messages()
  assert.deepEqual(found.map(({ subject, direction }) => [subject, direction]).toSorted(), [
    ['composed', 'out'],
    ['from a telephone', 'out'],
  ])
})

test('a token that is refused is refreshed once; a grant that is gone needs a person, and raises an alert', async t => {
  const fake = await FakeImap.start()
  const { account, inboxId, grant, connection, untilState, events, stop, start } = await connect(t, fake)
  await untilState('live')
  await stop()
  fake.tokens.clear()
  await start()
  await untilState('failing')
  assert.deepEqual(grant.refused, ['token'])
  assert.match((await connection()).error ?? '', /refuses the sign-in/)

  grant.isGone = true
  const { world } = (await theBox()).app
  await setDue(world, inboxId, world.clock.now())
  world.wakeups.hint('connections')
  await untilState('reconnect_required')

  assert.equal((await connection()).due_at, null)
  const last = (await events('inbox.updated')).at(-1)?.['connection'] as { state: string }
  assert.equal(last.state, 'reconnect_required')
  assert.deepEqual(last, (await account.api.get(`/v1/inboxes/${inboxId}`)).body.connection, 'as the inbox shows it')
  const alert = await eventually('alert', async () => {
    const { body } = await account.api.get('/v1/alerts')
    return body.alerts.find((each: { kind: string }) => each.kind === 'mailbox_disconnected')
  })
  assert.equal(alert.severity, 'critical')
})

test('a grant is given up after five refusals in a row, however many sessions have failed otherwise', async t => {
  const fake = await FakeImap.start()
  const { inboxId, untilState, stop, start } = await connect(t, fake)
  await untilState('live')
  await stop()
  fake.tokens.clear()
  const { world } = (await theBox()).app
  const refusals = async (): Promise<number> =>
    (await world.db.one<{ refusals: number }>(sql`select refusals from connections where inbox_id = ${inboxId}`))
      .refusals
  await world.db.transact(system('test'), tx =>
    tx.run(sql`update connections set attempts = 40 where inbox_id = ${inboxId}`),
  )
  await start()
  for (let n = 1; n < 5; n++) {
    await eventually(`refused ${n} times`, async () => (await refusals()) === n)
    await untilState('failing')
    await setDue(world, inboxId, world.clock.now())
    world.wakeups.hint('connections')
  }
  await untilState('reconnect_required')
})

const faults: Record<string, { meddle: Meddle; error: RegExp; delayMs: number }> = {
  'a busy sign': {
    meddle: (command, tag) => (command.startsWith('UID SEARCH') ? { say: `${tag} NO [LIMIT] Too many\r\n` } : null),
    error: /asks for less/,
    delayMs: 50_000,
  },
  garbage: {
    meddle: command => (command.startsWith('SELECT') ? { say: '* (((( {99}\r\n\0\r\n)', close: true } : null),
    error: /provider/,
    delayMs: 4_000,
  },
  'a literal that ends early': {
    meddle: command =>
      command.includes('BODY.PEEK[]') ? { say: '* 1 FETCH (UID 1 BODY[] {5000}\r\nhalf', close: true } : null,
    error: /provider/,
    delayMs: 4_000,
  },
  'a literal that is too large': {
    meddle: command => (command.includes('BODY.PEEK[]') ? { say: '* 1 FETCH (UID 1 BODY[] {999999999}\r\n' } : null),
    error: /provider/,
    delayMs: 4_000,
  },
  goodbye: {
    meddle: command => (command.startsWith('SELECT') ? { say: '* BYE see you\r\n', close: true } : null),
    error: /provider/,
    delayMs: 4_000,
  },
}

for (const [name, { meddle, error, delayMs }] of Object.entries(faults)) {
  test(`a provider that answers with ${name} is tried again later, and nothing is lost or doubled`, async t => {
    const fake = await FakeImap.start()
    fake.deliver('INBOX', mail('survivor'))
    fake.meddle = meddle
    const { inboxId, connection, messages, untilState } = await connect(t, fake)
    await untilState('failing')

    const failed = await connection()
    assert.match(failed.error ?? '', error)
    const { world } = (await theBox()).app
    assert.ok(failed.due_at!.getTime() - world.clock.now().getTime() > delayMs * 0.8)
    assert.deepEqual(await messages(), [])
    fake.meddle = () => null
    await setDue(world, inboxId, world.clock.now())
    world.wakeups.hint('connections')
    await untilState('live')

    assert.deepEqual(
      (await messages()).map(({ subject }) => subject),
      ['survivor'],
    )
  })
}

test('a mirror ends when its inbox is disconnected, and what was mirrored stays', async t => {
  const fake = await FakeImap.start()
  fake.deliver('INBOX', mail('kept'))
  const { inboxId, untilState, messages } = await connect(t, fake)
  await untilState('live')

  const { db, wakeups } = (await theBox()).app.world
  await db.transact(system('test'), async tx => {
    await tx.run(sql`delete from connections where inbox_id = ${inboxId}`)
    await tx.run(sql`delete from remote_folders where inbox_id = ${inboxId}`)
  })
  wakeups.hint('connections')

  await eventually('no session', async () => fake.connections === 0)
  fake.deliver('INBOX', mail('later'))
  assert.deepEqual(
    (await messages()).map(({ subject }) => subject),
    ['kept'],
  )
})

test('of a message over 40 MiB the first lines are mirrored, with a note', async t => {
  const fake = await FakeImap.start()
  fake.deliver('INBOX', mail('huge'), { size: 60 * 1024 * 1024 })
  const { account, until, untilState } = await connect(t, fake)
  const [message] = await until('it', messages => messages.length === 1)
  await untilState('live')

  const { body } = await account.api.get(`/v1/inbox-messages/${message!.id}`)

  assert.deepEqual([body.subject, body.size, body.text], ['huge', 60 * 1024 * 1024, ''])
  assert.ok(fake.said.some(command => command.includes('BODY.PEEK[]<0.65536>')))
  assert.ok(fake.said.every(command => !command.endsWith('BODY.PEEK[])')))
})

test('a mailbox that is connected once more is not doubled', async t => {
  const fake = await FakeImap.start()
  const uid = fake.deliver('INBOX', mail('first'), { at: new Date('2024-03-01T10:00:00Z') })
  const { inboxId, grant, untilState, messages, stop, start } = await connect(t, fake)
  await untilState('live')
  await stop()
  const { world } = (await theBox()).app
  await world.db.transact(system('test'), async tx => {
    await tx.run(sql`delete from connections where inbox_id = ${inboxId}`)
    await tx.run(sql`delete from remote_folders where inbox_id = ${inboxId}`)
  })
  fake.flag('INBOX', uid, '\\Seen', true)
  fake.deliver('INBOX', mail('second'))

  await insertConnection(world, { inboxId, address: grant.address })
  await start()
  await untilState('live')

  const found = (await messages()).map(({ subject, is_read }) => [subject, is_read])
  assert.deepEqual(found.toSorted(), [
    ['first', true],
    ['second', false],
  ])
})

test('under legal hold, mail that is removed at the provider stays here', async t => {
  const fake = await FakeImap.start()
  const uid = fake.deliver('INBOX', mail('evidence'))
  const { account, inboxId, untilState, messages } = await connect(t, fake)
  await untilState('live')
  const held = await account.api.patch('/v1/account', { legal_hold: true })
  assert.equal(held.status, 200, JSON.stringify(held.body))

  fake.remove('INBOX', uid)

  const { db } = (await theBox()).app.world
  await eventually('settled', async () => {
    const rows = await db.many(sql`select uid from remote_messages where inbox_id = ${inboxId} limit 10`)
    return rows.length === 0
  })
  assert.deepEqual(
    (await messages()).map(({ subject }) => subject),
    ['evidence'],
  )
})
