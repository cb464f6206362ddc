// Alerts as mail, from the anomaly to the receiver: what leaves and what does not, what it says, how much of it there is, and
// when a contact counts as told. Real workers, a receiving server of the test.
// Waits more than it works.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { operatorMail } from '../../src/operator-mail.ts'
import { count } from '../../src/observers/guardian/guardian.fixture.ts'
import { evaluate } from '../../src/observers/guardian/evaluate.ts'
import { notificationWorker } from '../../src/observers/alerts/notification-worker.ts'
import { system } from '../../src/platform/db/actor.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { raise } from '../../src/platform/journal/anomaly.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { readTailOnce } from '../../src/platform/work/tail.ts'
import { Dns } from '../../src/platform/net/dns.ts'
import { GuardedHttp } from '../../src/platform/net/guarded-http.ts'
import { Gate } from '../../src/sending/messages/gate.ts'
import { aBox, type Box } from '../support/box.ts'
import { anAccount, eventually, type TestAccount } from '../support/factories.ts'
import { aSink, type TestSink } from '../support/sink.ts'

let sink: TestSink
let box: Box

before(async () => {
  sink = await aSink()
  sink.answer = (verb, argument) =>
    verb === 'RCPT' && argument.includes('gone') ? '550 5.1.1 no such user here' : null
  box = await aBox({ environment: { SMTP_ROUTES: `*=127.0.0.1:${sink.port}` } })
})

after(() => sink.close())

interface Contact {
  id: string
  status: string
  last_delivered_at: string | null
  last_failed_at: string | null
  last_error: string | null
}

async function aContact({ api }: TestAccount, target: string): Promise<string> {
  const made = await api.post('/v1/alert-contacts', { channel: 'email', target })
  assert.equal(made.status, 201)
  assert.equal(made.body.status, 'active')
  return made.body.id
}

const contactOf = async ({ api }: TestAccount, id: string): Promise<Contact> =>
  (await api.get('/v1/alert-contacts')).body.contacts.find((each: Contact) => each.id === id)

const alarm = ({ id: accountId, box: { app } }: TestAccount, scope = 'domain:example.com', times = 1): Promise<void> =>
  app.world.db.transact(system('test'), async tx => {
    for (let n = 0; n < times; n++) {
      const facts = { rule: 'a rule', metric: 'block_rate', value: 0.092, threshold: 0.05, window_seconds: 3600 }
      raise(tx, {
        kind: 'rule',
        severity: 'critical',
        title: 'Visit http://evil.example/ now',
        accountId,
        scope,
        facts,
      })
    }
  })

const statusesOf = async ({ id, box: { app } }: TestAccount): Promise<Record<string, number>> => {
  const rows = await app.world.db.many<{ status: string; total: number }>(sql`
    select n.status, count(*) as total from alert_notifications n join alerts a on a.id = n.alert_id
    where a.account_id = ${id} group by n.status`)
  return Object.fromEntries(rows.map(row => [row.status, row.total]))
}

const mailsTo = (address: string) => sink.received.filter(mail => mail.recipients.includes(address))

/** What the mail says, with the transfer encoding undone. */
const textOf = (source: string): string =>
  source.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))

test('an alert leaves as a signed mail in our own words, and counts as delivered when the receiver took it', async () => {
  const account = await anAccount({ box })
  const id = await aContact(account, 'oncall@example.net')
  await alarm(account, 'sender:"visit http://evil.example/x now\r\nBcc: v@x.example"@evil.example')

  const [mail] = await eventually('the mail has arrived', async () => {
    const mails = mailsTo('oncall@example.net')
    return mails.length > 0 && mails
  })
  await eventually('it is delivered', async () => (await statusesOf(account))['delivered'] === 1)

  const { status, last_delivered_at, last_error } = await contactOf(account, id)
  assert.ok(last_delivered_at)
  assert.deepEqual([status, last_error], ['active', null])
  assert.match(mail!.source, /^From: Sluice <alerts@operator\.sluice\.test>/m)
  assert.match(mail!.source, /^DKIM-Signature: .*d=operator\.sluice\.test;/m)
  assert.match(mail!.source, /^Subject: \[critical\] Sluice: Block rate over the limit of a rule\r$/m)
  assert.equal(mail!.recipients.length, 1)
  const text = textOf(mail!.source)
  assert.match(text, /CRITICAL: Block rate over the limit of a rule/)
  assert.match(text, /Value: 9\.2 % in 60 minutes, limit 5 %/)
  assert.match(text, /Scope: sender "visithttpevil\[\.\]examplexnowBccv\[at\]x\[\.\]example\[at\]evil\[\.\]example"/)
  assert.ok(!/evil\.example|http:|Visit/.test(text), text)
})

test('a mail that bounces makes the contact failing, and after a day it is tried again', async () => {
  const account = await anAccount({ box })
  const id = await aContact(account, 'gone-away@example.net')
  await alarm(account)
  await eventually('it is dead', async () => (await statusesOf(account))['dead'] === 1)
  const failing = await contactOf(account, id)
  assert.equal(failing.status, 'failing')
  assert.equal(failing.last_delivered_at, null)
  assert.match(failing.last_error!, /The mail bounced: .*no such user here/)

  const answer = sink.answer
  sink.answer = () => null
  await alarm(account)
  await eventually('the next is given up at once', async () => (await statusesOf(account))['dead'] === 2)
  assert.match((await contactOf(account, id)).last_error!, /bounced or complained/)
  assert.equal(mailsTo('gone-away@example.net').length, 0)
  box.clock.advance(25 * 3_600_000)
  await alarm(account)
  await eventually('the one of the next day is delivered', async () => (await statusesOf(account))['delivered'] === 1)
  assert.equal((await contactOf(account, id)).status, 'active')
  sink.answer = answer
})

test('what a sandbox account causes meets the simulator, and nobody else’s address suffers', async () => {
  const [sandbox, live] = [await anAccount({ box, sandbox: true }), await anAccount({ box })]
  const ids = [await aContact(sandbox, 'bounce-desk@example.net'), await aContact(sandbox, 'stranger@example.net')]
  await alarm(sandbox)
  await eventually('both are decided', async () => {
    const statuses = await statusesOf(sandbox)
    return statuses['dead'] === 1 && statuses['delivered'] === 1
  })
  const contacts = await Promise.all(ids.map(id => contactOf(sandbox, id)))
  assert.deepEqual(
    contacts.map(contact => contact.status),
    ['failing', 'active'],
  )
  assert.deepEqual([mailsTo('bounce-desk@example.net'), mailsTo('stranger@example.net')], [[], []])

  await aContact(live, 'bounce-desk@example.net')
  await alarm(live)
  await eventually('a real one is delivered there', async () => mailsTo('bounce-desk@example.net').length === 1)
})

test('an alert that is held or is still on its way is not delivered', async () => {
  const account = await anAccount({ box })
  const id = await aContact(account, 'patient@example.net')
  const { account_id } = await box.app.world.db.one<{ account_id: string }>(
    sql`select account_id from operator_senders where kind = 'live'`,
  )
  await box.operator.post(`/admin/v1/accounts/${account_id}/pause`, { reason: 'test' })
  await alarm(account)
  await eventually('it is sent', async () => (await statusesOf(account))['sent'] === 1)
  assert.equal((await contactOf(account, id)).last_delivered_at, null)

  await box.operator.post(`/admin/v1/accounts/${account_id}/resume`)

  await eventually('it is delivered', async () => (await statusesOf(account))['delivered'] === 1)
  assert.ok((await contactOf(account, id)).last_delivered_at)
})

test('the tenant that alerts are sent from is neither paused nor throttled by a rule', async () => {
  const { world } = box.app
  const sender = await world.db.one<{ account_id: string; tenant_id: string }>(
    sql`select account_id, tenant_id from operator_senders where kind = 'live'`,
  )
  const other = await anAccount({ box })
  for (const [accountId, tenantId] of [
    [sender.account_id, sender.tenant_id],
    [other.id, other.tenant.id],
  ] as const) {
    await count(world, { accountId, tenantId }, { recipients: 1000, delivered: 300, hard_bounces: 400, blocks: 300 })
  }

  await eventually('the other is paused', async () => {
    await evaluate(world)
    return (await other.api.get('/v1/suspensions?status=active')).body.suspensions.length === 1
  })

  const stops = await world.db.many(sql`
    select id from suspensions where account_id = ${sender.account_id} and status = 'active'
    union all select tenant_id from tenant_throttles where tenant_id = ${sender.tenant_id}`)
  assert.deepEqual(stops, [])
  const alerts = await world.db.many(sql`select 1 from guardian_states where account_id = ${sender.account_id}`)
  assert.ok(alerts.length > 0, 'but the operator can see it')
})

test('an account has at most 100 alert mails a day, whatever number of workers race', async t => {
  const quiet = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world } = quiet.app
  const account = await anAccount({ box: quiet })
  const contacts = 3
  for (let n = 0; n < contacts; n++) await aContact(account, `desk-${n}@example.net`)
  const other = await anAccount({ box: quiet })
  await aContact(other, 'neighbour@example.net')
  await alarm(account, 'domain:a.example', 50)
  await alarm(other)
  const tail = quiet.app.workers.find(worker => worker.name === 'alerts')!
  assert.ok(tail.kind === 'tail')
  await readTailOnce(world, tail)
  const http = new GuardedHttp({ dns: new Dns({ servers: [] }), allowed: world.config.WEBHOOK_ALLOW_CIDRS })
  const approvalLink = async () => null
  const ways = { sendMail: operatorMail(world, new Gate(world)), approvalLink, http, paging: http }
  const workers = Array.from({ length: 4 }, () => notificationWorker({ ...world, metrics: createMetrics() }, ways))
  const tellOne = async (): Promise<void> => {
    await Promise.all(workers.map(each => each.takeNext()))
    await Promise.all(workers.map(each => each.idle(30_000)))
  }
  await eventually('all are decided', async () => {
    await tellOne()
    return !('pending' in (await statusesOf(account)))
  })

  assert.deepEqual(await statusesOf(account), { sent: 100, dead: 50 })
  assert.deepEqual(await statusesOf(other), { sent: 1 })
  const { total } = await world.db.one<{ total: number }>(sql`select count(*) as total from messages`)
  assert.equal(total, 101)
  for (const { status } of (await account.api.get('/v1/alert-contacts')).body.contacts) assert.equal(status, 'active')
  quiet.clock.advance(24 * 3_600_000)
  await alarm(account)
  await readTailOnce(world, tail)
  await tellOne()
  assert.deepEqual(await statusesOf(account), { sent: 103, dead: 50 }, 'the next day is another one')
  await http.close()
})
