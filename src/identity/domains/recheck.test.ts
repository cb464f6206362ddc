// The daily check of verified domains, with a clock that is moved.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, unique, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aDnsServer, type FakeDns } from '../../platform/net/dns.fixture.ts'
import { Dns } from '../../platform/net/dns.ts'
import { recheckDomains } from './recheck.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

let dns: FakeDns
let box: Box
let account: TestAccount

before(async () => {
  dns = await aDnsServer()
})

after(() => dns.close())

async function freshBox() {
  box = await aBox({ environment: { DNS_SERVERS: dns.address } })
  account = await anAccount({ box })
}

const recheck = () => recheckDomains(box.app.world, new AbortController().signal)

const aDayLater = () => {
  box.clock.advance(DAY_MS + HOUR_MS)
  return recheck()
}

async function aVerifiedDomain() {
  const name = `${unique('d')}.example.com`
  const { body: domain } = await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name })
  dns.publish(domain.records)
  const { body: verified } = await account.api.post(`/v1/domains/${domain.id}/verify`)
  assert.equal(verified.verified, true)
  return { id: domain.id as string, name, dkimName: domain.records[1].name as string }
}

const find = async (id: string) => {
  const { body } = await account.api.get('/v1/domains')
  return body.domains.find((each: { id: string }) => each.id === id)
}

test('a domain is checked again a day after its last check, not before; platform names never', async () => {
  await freshBox()
  const { id } = await aVerifiedDomain()
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'acme.sluice.test' })
  await account.api.post(`/v1/tenants/${account.tenant.id}/domains`, { name: 'unverified.example.com' })
  const { checked_at } = await find(id)

  box.clock.advance(DAY_MS - HOUR_MS)
  assert.equal(await recheck(), 0)
  assert.equal((await find(id)).checked_at, checked_at)
  box.clock.advance(2 * HOUR_MS)
  assert.equal(await recheck(), 1)

  const checked = await find(id)
  assert.ok(checked.checked_at > checked_at)
  assert.deepEqual([checked.verified, checked.failing_since, checked.problem], [true, null, null])
})

test('a domain that fails three days running loses its verification, with an event, an audit entry and a log line', async () => {
  await freshBox()
  const { id, name, dkimName } = await aVerifiedDomain()
  dns.remove(dkimName)

  await aDayLater()
  const first = await find(id)
  await aDayLater()
  const second = await find(id)
  await aDayLater()
  const third = await find(id)

  assert.equal(first.verified, true)
  assert.ok(first.failing_since)
  assert.match(first.problem, /^Not in place: DKIM \(missing\)\. After three daily checks in a row/)
  assert.deepEqual([second.verified, second.failing_since], [true, first.failing_since])
  assert.deepEqual([third.verified, third.verified_at, third.failing_since], [false, null, null])
  const { body: events } = await account.api.get('/v1/events?type=anomaly_detected')
  assert.equal(events.events.length, 1)
  assert.equal(events.events[0].tenant_id, account.tenant.id)
  const { alert_id: alertId, title, ...data } = events.events[0].data
  assert.ok(alertId)
  assert.ok(title.includes(name))
  assert.deepEqual(data, {
    kind: 'domain_unverified',
    severity: 'critical',
    scope: `domain:${name}`,
    domain: name,
    domain_id: id,
    spf: 'ok',
    dkim: 'missing',
  })
  const { body: audit } = await account.api.get('/v1/audit?action=domain.unverify')
  assert.equal(audit.entries.length, 1)
  assert.equal(audit.entries[0].actor.type, 'system')
  assert.deepEqual(audit.entries[0].target, { type: 'domain', id })
  assert.ok(box.logLines.some(line => line.includes(name) && line.includes('no longer verified')))
  await aDayLater()
  assert.equal((await account.api.get('/v1/events?type=anomaly_detected')).body.events.length, 1)
})

test('a day on which the records are in place begins the count anew', async () => {
  await freshBox()
  const { id, name, dkimName } = await aVerifiedDomain()
  const { records } = await find(id)
  const dkim = records[1].value

  for (const isPublished of [false, false, true, false, false]) {
    dns.remove(dkimName)
    if (isPublished) dns.txt(dkimName, dkim)
    await aDayLater()
    assert.equal((await find(id)).verified, true)
  }
  await aDayLater()

  assert.equal((await find(id)).verified, false, name)
})

test('days without an answer from DNS count for nothing', async () => {
  await freshBox()
  const { id, name, dkimName } = await aVerifiedDomain()
  dns.breakDown(name, 'SERVFAIL')
  dns.breakDown(dkimName, 'REFUSED')
  for (let day = 0; day < 5; day++) await aDayLater()
  const unanswered = await find(id)
  assert.deepEqual([unanswered.verified, unanswered.failing_since, unanswered.problem], [true, null, null])
  assert.match(unanswered.records[0].problem, /could not be looked up \(SERVFAIL\)/)

  dns.breakDown(dkimName, 'silence')
  box.clock.advance(2 * DAY_MS)
  const impatient = new Dns({ servers: [dns.address], timeoutMs: 150 })
  await recheckDomains(box.app.world, new AbortController().signal, impatient)

  const silent = await find(id)
  assert.equal(silent.verified, true)
  assert.match(silent.records[1].problem, /could not be looked up \(TIMEOUT\)/)
})

test('fail, no answer, fail is two failures: the domain stays verified until the third', async () => {
  await freshBox()
  const { id, dkimName } = await aVerifiedDomain()
  dns.remove(dkimName)
  await aDayLater()
  dns.breakDown(dkimName, 'SERVFAIL')
  await aDayLater()
  dns.mend(dkimName)
  await aDayLater()
  assert.equal((await find(id)).verified, true)
  assert.ok((await find(id)).failing_since)

  await aDayLater()

  assert.equal((await find(id)).verified, false)
})

test('several processes share the work: each domain is checked once', async () => {
  await freshBox()
  const domains = []
  for (let index = 0; index < 6; index++) domains.push(await aVerifiedDomain())
  box.clock.advance(DAY_MS + HOUR_MS)
  dns.questions.length = 0

  const counts = await Promise.all([recheck(), recheck(), recheck()])

  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    6,
  )
  assert.equal(dns.questions.length, 6 * 5)
})

test('a domain that another process is taking is passed over, without waiting', async () => {
  await freshBox()
  const [taken] = [await aVerifiedDomain(), await aVerifiedDomain()]
  box.clock.advance(DAY_MS + HOUR_MS)

  await box.app.world.db.transact(system('test'), async tx => {
    await tx.one(sql`select id from domains where id = ${taken.id} for update`)
    assert.equal(await recheck(), 1)
  })

  assert.equal(await recheck(), 1)
})

test('a domain that somebody mends and verifies while it is being checked keeps the newer result', async () => {
  await freshBox()
  const { id, dkimName } = await aVerifiedDomain()
  const dkim = (await find(id)).records[1].value
  dns.remove(dkimName)
  box.clock.advance(DAY_MS + HOUR_MS)
  const slow = new Dns({ servers: [dns.address] })
  const txt = slow.txt.bind(slow)
  slow.txt = async asked => {
    const answer = await txt(asked)
    if (asked === dkimName) {
      dns.txt(dkimName, dkim)
      box.clock.advance(1_000)
      await account.api.post(`/v1/domains/${id}/verify`)
    }
    return answer
  }

  await recheckDomains(box.app.world, new AbortController().signal, slow)

  const domain = await find(id)
  assert.deepEqual([domain.verified, domain.failing_since, domain.records[1].state], [true, null, 'ok'])
})

test('a stopping process begins no batch', async () => {
  await freshBox()
  await aVerifiedDomain()
  box.clock.advance(2 * DAY_MS)
  assert.equal(await recheckDomains(box.app.world, AbortSignal.abort()), 0)
})
