// The MX port: reports change the delivery they are about, and nothing else does.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/refusal.ts'
import { encodeToken } from '../../mail/address/verp.ts'
import { idToBytes, newId } from '../../platform/ids.ts'
import { returnPath } from '../../sending/delivery/return-path.ts'
import { eventually } from '../../../test/support/factories.ts'
import { theBox } from '../../../test/support/box.ts'
import { arf, dsn, failed } from '../../mail/reports/report.fixture.ts'
import { aDeliveredMessage, anMx } from './inbound.fixture.ts'

test('a late bounce changes the delivery, suppresses the address and is an event, once', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage(['jane@example.com', 'john@example.com'])

  assert.match(await report(sent.bounceAddress(1), dsn(failed('john@example.com'))), /^250 2\.0\.0/)

  assert.deepEqual(await sent.statuses(), ['delivered', 'bounced'])
  assert.deepEqual(await sent.suppressions(), [{ address: 'john@example.com', reason: 'hard_bounce' }])
  assert.match(await report(sent.bounceAddress(1), dsn(failed('john@example.com'))), /^250/)
  const [event, ...more] = await sent.events('bounced')
  assert.equal(more.length, 0)
  assert.equal(event?.recipient, 'john@example.com')
  assert.equal(event?.data['enhanced_code'], '5.1.1')
})

test('a bounce that is faster than our own record is to come again', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  const { db } = (await theBox()).app.world
  await db.transact(system('test'), async tx => {
    await tx.run(sql`update deliveries set status = 'open' where message_id = ${sent.id}`)
    await tx.run(sql`
      insert into queue (message_id, n, account_id, tenant_id, recipient, recipient_domain, status, rank, accepted_at,
        updated_at, lease_token, lease_until)
      select message_id, n, account_id, tenant_id, recipient, 'example.com', 'sending', ${tx.now}, ${tx.now}, ${tx.now},
        gen_random_uuid(), ${tx.now}::timestamptz + interval '1 hour' from deliveries where message_id = ${sent.id}`)
  })
  assert.match(await report(sent.bounceAddress(), dsn(failed('jane@example.com'))), /^451 4\.3\.0/)
  await db.transact(system('test'), async tx => {
    await tx.run(sql`delete from queue where message_id = ${sent.id}`)
    await tx.run(sql`update deliveries set status = 'delivered', enhanced_code = '2.0.0' where message_id = ${sent.id}`)
  })
  const noCode = [
    'Final-Recipient: rfc822; jane@example.com',
    'Action: failed',
    'Diagnostic-Code: smtp; 550 user unknown',
  ]
  assert.match(await report(sent.bounceAddress(), dsn(noCode)), /^250/)
  const [delivery] = await db.many<{ smtp_code: number; enhanced_code: string | null }>(
    sql`select smtp_code, enhanced_code from deliveries where message_id = ${sent.id} limit 1`,
  )
  assert.deepEqual(delivery, { smtp_code: 550, enhanced_code: null })
  assert.equal((await sent.events('bounced'))[0]?.data['smtp_code'], 550)
})

test('the address may come back in capitals, and at any domain', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  const address = sent.bounceAddress().toUpperCase().replace('BOUNCE.ACME.EXAMPLE', 'elsewhere.example')
  assert.match(await report(address, dsn(failed('jane@example.com'))), /^250/)
  assert.deepEqual(await sent.statuses(), ['bounced'])
})

test('a bounce that is not hard does not suppress', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  await report(sent.bounceAddress(), dsn(failed('jane@example.com', '5.2.2', '552 5.2.2 Mailbox full')))
  assert.deepEqual(await sent.statuses(), ['bounced'])
  assert.deepEqual(await sent.suppressions(), [])
})

test('delayed, delivered and relayed are no bounces', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  for (const [action, status] of [
    ['delayed', '4.4.1'],
    ['delivered', '2.0.0'],
    ['relayed', '2.0.0'],
  ]) {
    const fields = ['Final-Recipient: rfc822; jane@example.com', `Action: ${action}`, `Status: ${status}`]
    assert.match(await report(sent.bounceAddress(), dsn(fields)), /^250/)
  }
  assert.deepEqual(await sent.statuses(), ['delivered'])
})

test('of several recipients the one that was ours counts; without it nothing does', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  const others = [failed('alias1@example.com'), failed('alias2@example.com')]
  await report(sent.bounceAddress(), dsn(...others))
  assert.deepEqual(await sent.statuses(), ['delivered'])
  await report(
    sent.bounceAddress(),
    dsn(...others, ['Original-Recipient: rfc822; Jane@example.com', ...failed('x@y.example')]),
  )
  assert.deepEqual(await sent.statuses(), ['bounced'])
})

test('the only recipient of a report counts also under another name, as after forwarding', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  await report(sent.bounceAddress(), dsn(failed('jane.doe@forwarded.example')))
  assert.deepEqual(await sent.statuses(), ['bounced'])
})

test('a return path that recipients shared marks those of its transaction that the report names, and no more', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage(['a@example.com', 'b@example.com', 'c@example.com', 'd@example.com'])
  const [shared, other] = [await sent.sharedAddress(0, 1, 2), await sent.sharedAddress(3)]
  await report(shared, dsn(['Action: failed', 'Status: 5.1.1']))
  assert.deepEqual(await sent.statuses(), ['delivered', 'delivered', 'delivered', 'delivered'])
  await report(shared, dsn(failed('B@example.com'), failed('d@example.com'), failed('stranger@example.com')))
  assert.deepEqual(await sent.statuses(), ['delivered', 'bounced', 'delivered', 'delivered'])
  await report(
    shared,
    arf(['Feedback-Type: abuse', 'Original-Rcpt-To: c@example.com', 'Original-Rcpt-To: d@example.com']),
  )
  await report(shared, arf(['Feedback-Type: opt-out', 'Original-Rcpt-To: a@example.com']))
  assert.deepEqual(await sent.statuses(), ['delivered', 'bounced', 'complained', 'delivered'])
  await report(other, dsn(failed('d@example.com', '5.7.1', '550 5.7.1 spam')))
  assert.deepEqual(await sent.statuses(), ['delivered', 'bounced', 'complained', 'blocked'])

  assert.deepEqual(await sent.suppressions(), [], 'any of them could have written it')
  for (const type of ['bounced', 'complained', 'blocked']) {
    assert.deepEqual(
      (await sent.events(type)).map(event => event.data['shared']),
      [true],
      type,
    )
  }
})

test('reports to shared return paths count for no rule; those to one of its own do', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage(['a@example.com', 'b@example.com', 'c@example.com', 'd@example.com'])
  const shared = await sent.sharedAddress(0, 1)
  await report(shared, dsn(failed('a@example.com')))
  await report(shared, arf(['Feedback-Type: abuse', 'Original-Rcpt-To: b@example.com']))
  await report(sent.bounceAddress(2), dsn(failed('c@example.com', '5.7.1', '550 5.7.1 spam')))
  await report(sent.bounceAddress(3), dsn(failed('d@example.com')))
  const total = async (): Promise<Record<string, number>> => {
    const { body } = await sent.account.api.get('/v1/metrics')
    const sums: Record<string, number> = {}
    for (const { start: _, ...counters } of body.intervals) {
      for (const [name, value] of Object.entries<number>(counters)) sums[name] = (sums[name] ?? 0) + value
    }
    return sums
  }
  await eventually('the last of them is counted', async () => (await total())['hard_bounces'] === 1)
  const { blocks, complaints, soft_bounces, delivered } = await total()
  assert.deepEqual(
    { blocks, complaints, soft_bounces, delivered },
    { blocks: 1, complaints: 0, soft_bounces: 0, delivered: 4 },
  )
})

test('a shared return path of the older form marks any recipient of its message, without consequences', async t => {
  const { report, world } = await anMx(t)
  const sent = await aDeliveredMessage(['a@example.com', 'b@example.com'])
  const token = encodeToken(
    { kind: 'b', id: idToBytes(sent.id), extra: 0xffff_ffff },
    world.secrets.keyOf('return-path'),
  )
  await report(`${token}@bounce.acme.example`, dsn(failed('b@example.com')))
  assert.deepEqual(await sent.statuses(), ['delivered', 'bounced'])
  assert.deepEqual(await sent.suppressions(), [])
})

test('a return path is refused ninety days after its message', async t => {
  const { client, world } = await anMx(t)
  const sent = await aDeliveredMessage()
  const day = 86_400_000
  const idOf = (age: number): string => newId(new Date(world.clock.now().getTime() - age))
  const addressOf = (id: string): string => returnPath(world.secrets, id, { n: 0 }, 'bounce.acme.example')
  const session = await client()
  await session.say('MAIL FROM:<>')
  assert.match(await session.say(`RCPT TO:<${sent.bounceAddress()}>`), /^250/)
  assert.match(await session.say(`RCPT TO:<${addressOf(idOf(89 * day))}>`), /^250/)
  assert.match(await session.say(`RCPT TO:<${addressOf(idOf(91 * day))}>`), /^550 5\.1\.1/)
})

test('a late report that the mail was not wanted makes the delivery blocked, and no other state is left', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  const spam = dsn(failed('jane@example.com', '5.7.1', '550 5.7.1 Message rejected as spam'))
  await report(sent.bounceAddress(), spam)
  assert.deepEqual(await sent.statuses(), ['blocked'])
  const [event] = await sent.events('blocked')
  assert.deepEqual([event?.data['late'], event?.data['enhanced_code']], [true, '5.7.1'])
  assert.deepEqual(await sent.suppressions(), [])
  await report(sent.bounceAddress(), dsn(failed('jane@example.com')))
  await report(sent.complaintAddress(0), arf(['Feedback-Type: abuse']))
  assert.deepEqual(await sent.statuses(), ['blocked'])
  assert.deepEqual([(await sent.events('bounced')).length, (await sent.events('complained')).length], [0, 0])
})

test('an opt-out is an unsubscribe of the tenant, and no complaint', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  for (let n = 0; n < 2; n++) await report(sent.complaintAddress(0), arf(['Feedback-Type: opt-out', 'User-Agent: x/1']))
  assert.deepEqual(await sent.statuses(), ['delivered'])
  const { body } = await sent.account.api.get('/v1/suppressions')
  assert.deepEqual(
    body.entries.map((entry: { reason: string; tenant_id: string }) => [entry.reason, entry.tenant_id]),
    [['unsubscribe', sent.account.tenant.id]],
  )
  assert.equal((await sent.events('unsubscribed')).length, 1)
})

test('one mail is one transaction, whatever number of recipients it repeats', async t => {
  const sent = await aDeliveredMessage(Array.from({ length: 20 }, (_, n) => `u${n}@example.com`))
  const { world } = sent.account.box.app
  let transactions = 0
  const transact: typeof world.db.transact = (by, run) => {
    transactions += 1
    return world.db.transact(by, run)
  }
  const { report } = await anMx(t, { world: { ...world, db: Object.assign(Object.create(world.db), { transact }) } })
  const shared = await sent.sharedAddress(...Array.from({ length: 20 }, (_, n) => n))
  const groups = Array.from({ length: 200 }, (_, n) => [
    `Original-Recipient: rfc822; u${n % 20}@example.com`,
    ...failed(`U${n % 20}@example.com`),
  ])
  const tokens = Array.from({ length: 90 }, (_, n) => sent.bounceAddress(1_000 + n))
  assert.match(await report([shared, shared.toUpperCase(), ...tokens], dsn(...groups)), /^250/)
  assert.equal(transactions, 1)
  assert.equal((await sent.events('bounced')).length, 20)
})

test('a bounce in plain words counts when it comes from the null sender', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  await report(sent.bounceAddress(), [
    'From: MAILER-DAEMON@qmail.example',
    'Subject: failure notice',
    '',
    'Hi. This is the qmail-send program at qmail.example.',
    '',
    '<jane@example.com>:',
    '192.0.2.1 does not like recipient.',
    'Remote host said: 550 5.1.1 No such user',
  ])
  assert.deepEqual(await sent.statuses(), ['bounced'])
})

test('holiday notices and letters to the bounce address change nothing', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  const vacation = ['From: Jane <jane@example.com>', 'Auto-Submitted: auto-replied', 'Subject: Out of office']
  await report(sent.bounceAddress(), [...vacation, '', '550 5.1.1 is what my calendar says. User unknown'])
  await report(
    sent.bounceAddress(),
    ['From: jane@example.com', 'Subject: Re: Hello', '', 'Thanks!'],
    'jane@example.com',
  )
  assert.deepEqual(await sent.statuses(), ['delivered'])
})

test('a complaint suppresses for the whole account, by whatever address it comes', async t => {
  const { report } = await anMx(t)
  const complaint = ['Feedback-Type: abuse', 'User-Agent: SomeFBL/1.0', 'Version: 1']
  for (const kind of ['complaint', 'bounce', 'abuse'] as const) {
    const sent = await aDeliveredMessage()
    const original = [`Return-Path: <${sent.bounceAddress()}>`, 'Subject: Hello']
    const to = { complaint: sent.complaintAddress(0), bounce: sent.bounceAddress(), abuse: 'abuse@sluice.test' }[kind]
    assert.match(await report(to, arf(complaint, original), 'fbl@example.com'), /^250/)
    assert.deepEqual(await sent.statuses(), ['complained'], kind)
    assert.deepEqual(await sent.suppressions(), [{ address: 'jane@example.com', reason: 'complaint' }])
    assert.equal((await sent.events('complained')).length, 1)
  }
})

test('a complaint to abuse@ finds its delivery through any mark of ours, and only through one', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage(['a@example.com', 'b@example.com', 'c@example.com'])
  const [first, second] = [sent.bounceAddress(0), sent.bounceAddress(1)]
  await report('abuse@mx.sluice.test', arf(['Feedback-Type: abuse', `Original-Mail-From: <${first}>`]))
  await report(
    'abuse@bounce.sluice.test',
    arf(['Feedback-Type: fraud'], [`Received: from x (envelope-from <${second}>)`]),
  )
  const forged = sent.bounceAddress(2).replace(/.(?=@)/, last => (last === 'a' ? 'b' : 'a'))
  await report('abuse@sluice.test', arf(['Feedback-Type: abuse', `Original-Mail-From: <${forged}>`]))
  await report('abuse@sluice.test', arf(['Feedback-Type: abuse', 'Original-Rcpt-To: c@example.com']))
  assert.deepEqual(await sent.statuses(), ['complained', 'complained', 'delivered'])
})

test('a mail taken out of the spam folder, or a report on signatures, is no complaint', async t => {
  const { report } = await anMx(t)
  const sent = await aDeliveredMessage()
  await report(sent.complaintAddress(0), arf(['Feedback-Type: not-spam']))
  await report(sent.complaintAddress(0), arf(['Feedback-Type: auth-failure']))
  await report(sent.complaintAddress(0), ['From: jane@example.com', 'Subject: why?', '', 'Why?'])
  assert.deepEqual(await sent.statuses(), ['delivered'])
})

test('one report to several addresses of ours is taken for each', async t => {
  const { report } = await anMx(t)
  const [one, two] = [await aDeliveredMessage(), await aDeliveredMessage()]
  await report([one.bounceAddress(), two.bounceAddress()], dsn(failed('jane@example.com')))
  assert.deepEqual([await one.statuses(), await two.statuses()], [['bounced'], ['bounced']])
})

test('a forged token and every unknown recipient are refused', async t => {
  const { client } = await anMx(t)
  const sent = await aDeliveredMessage()
  const session = await client()
  await session.say('MAIL FROM:<anyone@localhost>')
  const real = sent.bounceAddress()
  const tampered = Array.from({ length: 51 }, (_, at) => at)
    .filter(at => real[at] !== '-')
    .map(at => real.slice(0, at) + (real[at] === 'a' ? 'b' : 'a') + real.slice(at + 1))
  const others = ['someone@sluice.test', 'abuse@example.com', 'postmaster@example.com', 'x', '"a b"@sluice.test']
  for (const address of [...tampered, real.replace(/^b/, 'c'), ...others]) {
    assert.match(await session.say(`RCPT TO:<${address}>`), /^550 5\.1\.1/, address)
  }
  assert.match(await session.say('DATA'), /^554 5\.5\.1/)
  for (const address of [real, 'postmaster', 'PostMaster@sluice.test', 'abuse@mx.sluice.test']) {
    assert.match(await session.say(`RCPT TO:<${address}>`), /^250/, address)
  }
})

test('mail to the postmaster is accepted and logged', async t => {
  const { report, logLines } = await anMx(t)
  assert.match(await report('postmaster@sluice.test', ['Subject: canary-subject', '', 'Hello']), /^250/)
  assert.ok(logLines.some(line => line.includes('canary-subject') && line.includes('a message came in')))
})

test('a report that cannot be read is taken, logged, and changes nothing', async t => {
  const { report, logLines } = await anMx(t)
  const sent = await aDeliveredMessage()
  const bomb = ['Content-Type: multipart/mixed; boundary=b', '', ...Array.from({ length: 1_100 }, () => '--b\r\n\r\nx')]
  assert.match(await report(sent.bounceAddress(), bomb), /^250/)
  assert.ok(logLines.some(line => line.includes('cannot be read') && line.includes('too_many_parts')))
  const nobodys = dsn(['Nonsense: x']).map(line => line.replace(/^(From|Subject): .*/, '$1: jane@example.com'))
  assert.match(await report(sent.bounceAddress(), nobodys), /^250/)
  assert.match(await report(sent.bounceAddress(), ['']), /^250/)
  assert.deepEqual(await sent.statuses(), ['delivered'])
})

test('while the database is away, or the reader busy, the report is to come again', async t => {
  const sent = await aDeliveredMessage()
  const { world } = sent.account.box.app
  const transact = () => Promise.reject(refuse('unavailable', 'Try again shortly.'))
  const away = await anMx(t, { world: { ...world, db: Object.assign(Object.create(world.db), { transact }) } })
  assert.match(await away.report(sent.bounceAddress(), dsn(failed('jane@example.com'))), /^451 4\.3\.0/)
  const { MimeReader } = await import('./mime-reader.ts')
  const busy = await anMx(t, { reader: new MimeReader(world.threads, { queueMax: 0 }) })
  assert.match(await busy.report(sent.bounceAddress(), dsn(failed('jane@example.com'))), /^451 4\.3\.0/)
  assert.deepEqual(await sent.statuses(), ['delivered'])
})

test('an address that brings too much is deferred until the next minute', async t => {
  const { client, world } = await anMx(t, { arrivalsPerMinute: 3 })
  const { clock } = (await aDeliveredMessage()).account.box
  clock.set(new Date(Math.ceil(world.clock.now().getTime() / 60_000) * 60_000 + 1_000))
  const session = await client()
  assert.match(await session.say('MAIL FROM:<>'), /^250/)
  assert.match(await session.say('RCPT TO:<guess@sluice.test>'), /^550/)
  await session.say('RSET')
  assert.match(await session.say('MAIL FROM:<>'), /^250/)
  await session.say('RSET')
  assert.match(await session.say('MAIL FROM:<>'), /^450 4\.7\.1/)
  clock.advance(60_000)
  assert.match(await session.say('MAIL FROM:<>'), /^250/)
})

test('connections of an address count over all processes', async t => {
  const limits = { connectionsPerAddressMax: 24 }
  const [one, other] = [await anMx(t, { limits }), await anMx(t, { limits })]
  const open = async (port: number): Promise<{ greeting: string; socket: Socket }> => {
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    return { greeting: String((await once(socket, 'data'))[0]), socket }
  }
  for (const { port } of [one, other]) {
    for (const { greeting } of await Promise.all(Array.from({ length: 12 }, () => open(port))))
      assert.match(greeting, /^220/)
  }
  for (const { port } of [one, other]) {
    await eventually('each knows of the other', async () => {
      const { greeting, socket } = await open(port)
      socket.destroy()
      await delay(50)
      return greeting.startsWith('421')
    })
  }
})

test('the port offers TLS and no login, takes 40 MB, and no smuggled message', async t => {
  const { client, report } = await anMx(t)
  const session = await client()
  const offer = await session.say('EHLO mx.example.com')
  assert.match(offer, /STARTTLS/)
  assert.match(offer, /SIZE 41943040/)
  assert.doesNotMatch(offer, /AUTH/)
  assert.match(await session.say('AUTH PLAIN AHUAcA=='), /^502 5\.5\.1/)
  assert.match(await session.say('MAIL FROM:<> SIZE=41943041'), /^552 5\.3\.4/)
  assert.match(await report('postmaster', ['Subject: x', '', 'a\n.\nb']), /^550 5\.6\.0/)
  assert.match(await session.say('STARTTLS'), /^220/)
  await session.secure()
  assert.match(await session.say('EHLO mx.example.com'), /SIZE/)
})
