// Domains over a real DNS server: registering, verifying, inbound, deleting.
import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { after, before, test } from 'node:test'
import { aBox, type Box } from '../../../test/support/box.ts'
import { useRealPrimes } from '../../../test/support/primes.ts'
import { anAccount, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { locks } from '../../platform/db/locks.ts'
import { sql } from '../../platform/db/sql.ts'
import { aDnsServer, type FakeDns } from '../../platform/net/dns.fixture.ts'
import { Dns } from '../../platform/net/dns.ts'
import { Refusal } from '../../platform/refusal.ts'
import { keyGenerator } from './generate-key.ts'
import { verifyDomain } from './verify.ts'

interface DnsRecord {
  purpose: string
  type: string
  name: string
  value: string
  priority: number | null
  state: string
  found: string[]
  problem: string | null
}

let dns: FakeDns
let box: Box
let account: TestAccount

before(async () => {
  dns = await aDnsServer()
  box = await aBox({ environment: { DNS_SERVERS: dns.address } })
  account = await anAccount({ box, tenants: 2 })
})

after(() => dns.close())

const register = (name: string, { api, tenant } = account, tenantId = tenant.id) =>
  api.post(`/v1/tenants/${tenantId}/domains`, { name })

async function aDomain(name = `${unique('d')}.example.com`) {
  const { status, body } = await register(name)
  assert.equal(status, 201, JSON.stringify(body))
  return body as { id: string; name: string; dkim_selector: string; records: DnsRecord[] }
}

const verify = async (id: string, { api } = account) => {
  const { status, body } = await api.post(`/v1/domains/${id}/verify`)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

const record = (domain: { records: DnsRecord[] }, purpose: string): DnsRecord =>
  domain.records.find(each => each.purpose === purpose)!

const statesOf = (domain: { records: DnsRecord[] }): Record<string, string> =>
  Object.fromEntries(domain.records.map(({ purpose, state }) => [purpose, state]))

test('a domain is created with a DKIM key pair and every record to publish', async () => {
  const name = `${unique('d')}.example.com`

  const { status, body } = await register(name)

  assert.equal(status, 201)
  const { id, created_at, dkim_selector, records, ...rest } = body
  assert.ok(id && created_at)
  assert.deepEqual(rest, {
    tenant_id: account.tenant.id,
    name,
    verified: false,
    mx_verified: false,
    inbound_enabled: false,
    problem: 'It was not looked up yet. Publish the records, then verify.',
    checked_at: null,
    verified_at: null,
    failing_since: null,
  })
  assert.deepEqual(
    records.map(({ purpose, type, name: at, value, priority, state, found }: DnsRecord) => [
      purpose,
      type,
      at,
      purpose === 'dkim' ? value.slice(0, 18) : value,
      priority,
      state,
      found,
    ]),
    [
      ['spf', 'TXT', name, 'v=spf1 include:spf.sluice.test ~all', null, 'missing', []],
      ['dkim', 'TXT', `${dkim_selector}._domainkey.${name}`, 'v=DKIM1; k=rsa; p=', null, 'missing', []],
      ['dmarc', 'TXT', `_dmarc.${name}`, 'v=DMARC1; p=none', null, 'missing', []],
      ['return_path', 'CNAME', `bounce.${name}`, 'bounce.sluice.test', null, 'missing', []],
      ['mx', 'MX', name, 'mx.sluice.test', 10, 'missing', []],
    ],
  )
  const published = Buffer.from(record(body, 'dkim').value.slice(18), 'base64')
  const key = createPublicKey({ key: published, format: 'der', type: 'spki' })
  assert.equal(key.asymmetricKeyDetails?.modulusLength, 2048)
})

test('with everything published, verify finds all records ok and the domain verified', async () => {
  const domain = await aDomain()
  dns.publish(domain.records)

  const verified = await verify(domain.id)

  assert.equal(verified.verified, true)
  assert.equal(verified.mx_verified, true)
  assert.equal(verified.problem, null)
  assert.ok(verified.checked_at && verified.verified_at)
  assert.deepEqual(statesOf(verified), { spf: 'ok', dkim: 'ok', dmarc: 'ok', return_path: 'ok', mx: 'ok' })
  assert.deepEqual(record(verified, 'mx').found, ['10 mx.sluice.test'])
  assert.deepEqual(record(verified, 'dkim').found, [record(domain, 'dkim').value])
  const { body } = await account.api.get('/v1/domains')
  assert.deepEqual(
    body.domains.find((each: { id: string }) => each.id === domain.id),
    verified,
  )
})

test('SPF and DKIM alone make a domain verified, also a DKIM key in several strings', async () => {
  const domain = await aDomain()
  const { name, value } = record(domain, 'dkim')
  dns.txt(domain.name, 'unrelated', 'v=spf1 ip4:192.0.2.1 include:spf.sluice.test include:example.net -all')
  dns.txt(name, [value.slice(0, 40), value.slice(40, 200), value.slice(200)])

  const verified = await verify(domain.id)

  assert.equal(verified.verified, true)
  assert.equal(verified.mx_verified, false)
  assert.deepEqual(statesOf(verified), {
    spf: 'ok',
    dkim: 'ok',
    dmarc: 'missing',
    return_path: 'missing',
    mx: 'missing',
  })
})

test('SPF that includes us at one remove, or redirects to a record that does, is in place', async () => {
  const nested = await aDomain()
  dns.publish(nested.records.filter(({ purpose }) => purpose !== 'spf'))
  dns.txt(nested.name, `v=spf1 include:gone.${nested.name} include:one.${nested.name} -all`)
  dns.txt(`one.${nested.name}`, `v=spf1 include:two.${nested.name} include:${nested.name} ~all`)
  dns.txt(`two.${nested.name}`, 'v=spf1 include:spf.sluice.test -all')
  const verified = await verify(nested.id)
  assert.equal(verified.verified, true)
  assert.deepEqual(record(verified, 'spf').found, [
    `v=spf1 include:gone.${nested.name} include:one.${nested.name} -all`,
  ])

  const redirected = await aDomain()
  dns.publish(redirected.records.filter(({ purpose }) => purpose !== 'spf'))
  dns.txt(redirected.name, `v=spf1 redirect=two.${nested.name}`)
  assert.equal((await verify(redirected.id)).verified, true)
})

test('SPF: a circle of includes ends, more than ten look-ups are not made, and silence on the way is no verdict', async () => {
  const domain = await aDomain()
  dns.publish(domain.records.filter(({ purpose }) => purpose !== 'spf'))
  dns.txt(domain.name, `v=spf1 include:a.${domain.name} -all`)
  dns.txt(`a.${domain.name}`, `v=spf1 include:${domain.name} -all`)
  assert.equal(record(await verify(domain.id), 'spf').state, 'wrong')

  const far = (n: number): string => `n${n}.${domain.name}`
  for (let n = 0; n < 12; n++) dns.txt(far(n), `v=spf1 include:${n === 11 ? 'spf.sluice.test' : far(n + 1)} -all`)
  dns.remove(domain.name)
  dns.txt(domain.name, `v=spf1 include:${far(0)} -all`)
  assert.equal(record(await verify(domain.id), 'spf').state, 'wrong')
  dns.remove(domain.name)
  dns.txt(domain.name, `v=spf1 include:${far(2)} -all`)
  assert.equal(record(await verify(domain.id), 'spf').state, 'ok')

  dns.breakDown(far(5), 'SERVFAIL')
  const silent = record(await verify(domain.id), 'spf')
  assert.equal(silent.state, 'ok')
  assert.equal(silent.problem, 'It could not be looked up (SERVFAIL). Try again later.')
})

test('nothing published: NXDOMAIN everywhere is missing everywhere', async () => {
  const { id } = await aDomain()

  const domain = await verify(id)

  assert.equal(domain.verified, false)
  assert.equal(
    domain.problem,
    'Not in place: SPF (missing) and DKIM (missing). Publish what is shown, then verify again.',
  )
  assert.deepEqual(new Set(Object.values(statesOf(domain))), new Set(['missing']))
})

test('wrong records are told, with what was found and what to do', async () => {
  const domain = await aDomain()
  dns.txt(domain.name, 'v=spf1 include:example.net -all', 'v=spf1 include:spf.sluice.test -all')
  dns.txt(record(domain, 'dkim').name, 'v=DKIM1; k=rsa; p=MIIBother')
  dns.txt(record(domain, 'dmarc').name, 'v=DMARC1; rua=mailto:a@example.com')
  dns.cname(record(domain, 'return_path').name, 'elsewhere.example.net')
  dns.mx(domain.name, 'mx.example.net')

  const checked = await verify(domain.id)

  assert.equal(checked.verified, false)
  assert.deepEqual(new Set(Object.values(statesOf(checked))), new Set(['wrong']))
  assert.equal(record(checked, 'spf').found.length, 2)
  assert.match(record(checked, 'spf').problem!, /several SPF records/)
  assert.deepEqual(record(checked, 'dkim').found, ['v=DKIM1; k=rsa; p=MIIBother'])
  assert.deepEqual(record(checked, 'return_path').found, ['elsewhere.example.net'])
  assert.deepEqual(record(checked, 'mx').found, ['10 mx.example.net'])
})

test('a domain whose records are gone is no longer verified when it is verified again', async () => {
  const domain = await aDomain()
  dns.publish(domain.records)
  await verify(domain.id)

  dns.remove(record(domain, 'dkim').name)
  const again = await verify(domain.id)

  assert.equal(again.verified, false)
  assert.equal(again.verified_at, null)
  assert.equal(again.problem, 'Not in place: DKIM (missing). Publish what is shown, then verify again.')
})

test('a look at DNS that a newer one has overtaken verifies nothing: the domain is looked at again', async () => {
  const domain = await aDomain()
  dns.publish(domain.records)
  const { world } = box.app
  const slow = new Dns({ servers: [dns.address] })
  const [asked, overtaken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  slow.mx = async name => {
    const answer = await world.dns.mx(name)
    asked.resolve()
    await overtaken.promise
    return answer
  }
  const reach = { accountId: account.id, tenantId: null, inboxId: null }
  const by = { ...system('test'), action: 'domain.verify' }
  const late = verifyDomain(world, slow, by, { reach, id: domain.id, attachInboxes: async () => {} })
  await asked.promise
  for (const { name } of domain.records) dns.remove(name)
  assert.equal((await verify(domain.id)).verified, false)

  overtaken.resolve()
  assert.equal((await late).verified, false)
  const { body } = await account.api.get('/v1/domains')
  assert.equal(body.domains.find(({ id }: { id: string }) => id === domain.id).verified, false)
})

test('of many calls that verify a domain at once each answers the truth', async () => {
  const domain = await aDomain()
  dns.publish(domain.records)
  const answers = await Promise.all(Array.from({ length: 10 }, () => verify(domain.id)))
  assert.deepEqual(
    answers.map(({ verified }) => verified),
    answers.map(() => true),
  )
})

test('SERVFAIL takes nothing away: the domain stays verified, and the record says it could not be looked up', async () => {
  const domain = await aDomain()
  dns.publish(domain.records)
  const before = await verify(domain.id)
  const names = new Set(domain.records.map(({ name }) => name))
  for (const name of names) dns.breakDown(name, 'SERVFAIL')

  const after = await verify(domain.id)

  assert.equal(after.verified, true)
  assert.equal(after.mx_verified, true)
  assert.equal(after.verified_at, before.verified_at)
  assert.deepEqual(statesOf(after), statesOf(before))
  assert.equal(record(after, 'spf').problem, 'It could not be looked up (SERVFAIL). Try again later.')
  assert.deepEqual(record(after, 'spf').found, record(before, 'spf').found)
})

test('SERVFAIL gives nothing either: an old finding verifies no domain', async () => {
  const domain = await aDomain()
  dns.publish(domain.records.filter(({ purpose }) => purpose !== 'spf'))
  assert.equal((await verify(domain.id)).verified, false)
  dns.txt(domain.name, record(domain, 'spf').value)
  dns.breakDown(record(domain, 'dkim').name, 'SERVFAIL')

  const checked = await verify(domain.id)

  assert.equal(checked.verified, false)
  assert.equal(checked.problem, 'Not in place: DKIM (not looked up). Publish what is shown, then verify again.')
  dns.mend(record(domain, 'dkim').name)
  assert.equal((await verify(domain.id)).verified, true)
})

test('hostile record contents are kept bounded and readable, and break nothing', async () => {
  const domain = await aDomain()
  const nasty = Buffer.concat([Buffer.from('v=spf1 \0\u001b[2J'), Buffer.from([0xff, 0xed, 0xa0, 0x80])])
  // The cut after a thousand characters falls into the middle of the last one.
  dns.txt(domain.name, nasty, `v=spf1 ${'x'.repeat(992)}😀😀`)
  dns.txt(record(domain, 'dkim').name, ...Array.from({ length: 30 }, (_, index) => `p=${index}`))

  const checked = await verify(domain.id)

  assert.equal(record(checked, 'spf').state, 'wrong')
  assert.ok(record(checked, 'spf').found.every(text => text.length <= 1_000 && text.isWellFormed()))
  assert.ok(record(checked, 'spf').found.every(text => !/\p{Cc}/u.test(text)))
  assert.equal(record(checked, 'dkim').found.length, 10)
})

test('of two tenants that both publish their keys the first is verified and the second is told why it is not', async () => {
  const name = `${unique('d')}.example.com`
  const rival = await anAccount({ box })
  const [first, second] = [(await register(name)).body, (await register(name, rival)).body]
  assert.notEqual(first.dkim_selector, second.dkim_selector)
  dns.publish(first.records)
  dns.txt(record(second, 'dkim').name, record(second, 'dkim').value)

  assert.equal((await verify(first.id)).verified, true)
  const refused = await verify(second.id, rival)

  assert.equal(refused.verified, false)
  assert.equal(record(refused, 'dkim').state, 'ok')
  assert.match(refused.problem, /this name is verified elsewhere/)
  await account.api.delete(`/v1/domains/${first.id}`)
  assert.equal((await verify(second.id, rival)).verified, true)
})

test('a name goes to the tenant whose key is published, from one whose key is not', async () => {
  const name = `${unique('d')}.example.com`
  const rival = await anAccount({ box })
  const [first, second] = [(await register(name)).body, (await register(name, rival)).body]
  dns.publish(first.records)
  assert.equal((await verify(first.id)).verified, true)
  dns.txt(record(second, 'dkim').name, record(second, 'dkim').value)
  dns.breakDown(record(first, 'dkim').name, 'SERVFAIL')
  assert.equal((await verify(second.id, rival)).verified, false, 'no answer takes nothing away')
  dns.mend(record(first, 'dkim').name)
  dns.remove(record(first, 'dkim').name)

  assert.equal((await verify(second.id, rival)).verified, true)

  const { body: list } = await account.api.get(`/v1/domains?tenant_id=${account.tenant.id}`)
  const lost = list.domains.find(({ id }: { id: string }) => id === first.id)
  assert.equal(lost.verified, false)
  assert.match(lost.problem, /DKIM \(missing\)/)
  const { body: audit } = await account.api.get('/v1/audit?action=domain.unverify')
  const [entry] = audit.entries.filter((each: { target: { id: string } }) => each.target.id === first.id)
  assert.deepEqual([entry.actor.type, entry.actor.name], ['system', 'domain-verify'])
  const { body: events } = await account.api.get('/v1/events?type=anomaly_detected')
  assert.deepEqual(
    events.events.map(({ data }: { data: { kind: string; domain_id: string } }) => [data.kind, data.domain_id]),
    [['domain_unverified', first.id]],
  )
})

test('of many claimants racing exactly one is verified, and none meets an error', async () => {
  const name = `${unique('d')}.example.com`
  const rivals = await Promise.all(Array.from({ length: 6 }, () => anAccount({ box })))
  const claims = await Promise.all(rivals.map(async rival => (await register(name, rival)).body))
  dns.txt(name, record(claims[0], 'spf').value)
  for (const claim of claims) dns.txt(record(claim, 'dkim').name, record(claim, 'dkim').value)

  const results = await Promise.all(claims.map((claim, index) => verify(claim.id, rivals[index]!)))

  assert.equal(results.filter(result => result.verified).length, 1)
  assert.equal(results.filter(result => /verified elsewhere/.test(result.problem ?? '')).length, 5)
})

test('the same name twice in one tenant answers 409, in any spelling; another tenant may claim it', async () => {
  const name = `${unique('d')}.example.com`
  assert.equal((await register(name)).status, 201)

  const again = await register(name.toUpperCase())

  assert.equal(again.status, 409)
  assert.equal(again.body.error.code, 'conflict')
  assert.equal((await register(name, account, account.tenants[1]!.id)).status, 201)
})

test('names are kept in lower-case ASCII, and what is no domain name answers 400', async () => {
  const word = unique('d')
  assert.equal((await register(`${word}.Bücher.Example`)).body.name, `${word}.xn--bcher-kva.example`)
  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.com`
  const bad = ['', ' ', 'localhost', '127.0.0.1', '[::1]', 'a..com', '-a.com', 'a_b.com', 'http://a.com', 'a@b.com']
  for (const name of [...bad, 'a.com/x', 'a b.com', 'a.com.', '*.a.com', 'x'.repeat(300), long]) {
    const { status, body } = await register(name)
    assert.equal(status, 400, `${name}: ${JSON.stringify(body)}`)
    assert.match(body.error.message, /^name must/)
  }
})

test('a name under the platform domain is verified and MX-verified at once, without DNS', async () => {
  const name = `${unique('acme')}.sluice.test`
  const asked = dns.questions.length

  const { status, body } = await register(name)

  assert.equal(status, 201)
  assert.equal(body.verified, true)
  assert.equal(body.mx_verified, true)
  assert.deepEqual(new Set(Object.values(statesOf(body))), new Set(['ok']))
  assert.equal((await verify(body.id)).verified, true)
  assert.equal(dns.questions.length, asked)
})

test('a platform name over a name of another tenant is 409, over one’s own it is free', async () => {
  const rival = await anAccount({ box })
  const name = `${unique('bigcorp')}.sluice.test`
  assert.equal((await register(`mail.eu.${name}`)).status, 201)

  const over = await register(name, rival)

  assert.deepEqual([over.status, over.body.error?.code], [409, 'conflict'])
  assert.equal((await register(`eu.${name}`, account, account.tenants[1]!.id)).status, 409)
  assert.equal((await register(name)).status, 201)
  assert.equal((await register(`x${name}`, rival)).status, 201, 'it only ends alike')
})

test('of a platform name and one under it, taken at once by two accounts, one is 409', async () => {
  const rival = await anAccount({ box })
  for (let round = 0; round < 4; round++) {
    const name = `${unique('twin')}.sluice.test`

    const replies = await Promise.all([register(`mail.${name}`), register(name, rival)])

    assert.deepEqual(replies.map(({ status }) => status).toSorted(), [201, 409])
  }
})

test('a platform name is taken while nobody takes another, so that each sees what lies under it', async () => {
  const { db } = box.app.world
  let isDone = false
  let answer: ReturnType<typeof register> | null = null

  await db.transact(system('test'), async tx => {
    await tx.many(sql`select pg_advisory_xact_lock(${locks.platformNames})`)
    answer = register(`${unique('late')}.sluice.test`)
    void answer.then(() => (isDone = true))
    await eventually('it waits for the names', async () => {
      const waiting = await db.many(sql`
        select 1 from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`)
      return waiting.length > 0
    })
    assert.equal(isDone, false)
  })

  assert.equal((await answer!).status, 201)
})

test('an account that creates many domains at once keeps nobody else from creating one', async t => {
  t.after(useRealPrimes())
  const victim = await anAccount({ box })
  let done = 0
  const hostile = Array.from({ length: 12 }, async () => {
    const { status } = await register(`${unique('many')}.example.com`)
    done += 1
    return status
  })

  const { status } = await register(`${unique('one')}.example.com`, victim)
  const doneBefore = done

  assert.equal(status, 201)
  assert.ok(doneBefore < 10, `${doneBefore} of the other account were made before`)
  assert.deepEqual(new Set(await Promise.all(hostile)), new Set([201]))
})

test('who waits too long for a key is asked to come again', async t => {
  t.after(useRealPrimes())
  const generate = keyGenerator({ permits: 2, perOwner: 1, waitMsMax: 1 })
  const [first, second, other] = await Promise.allSettled([generate('a'), generate('a'), generate('b')])

  assert.deepEqual([first.status, other.status], ['fulfilled', 'fulfilled'])
  assert.ok(second.status === 'rejected' && second.reason instanceof Refusal)
  assert.deepEqual([second.reason.status, second.reason.retryAfterSeconds], [503, 20])
})

test('a platform name belongs to one tenant of the installation: taken is 409, and free again once deleted', async () => {
  const rival = await anAccount({ box })
  const name = `${unique('shop')}.sluice.test`
  const { body: platform } = await register(name)
  assert.equal(platform.verified, true)

  const taken = await register(name, rival)

  assert.equal(taken.status, 409)
  assert.equal(taken.body.error.code, 'conflict')
  assert.equal((await register(`pay.${name}`, rival)).status, 409, 'under it, mail would pass for its owner’s')
  const news = await register(`news.eu.${name}`)
  assert.equal(news.status, 201)
  for (const { id } of [platform, news.body]) await account.api.delete(`/v1/domains/${id}`)
  assert.equal((await register(name, rival)).status, 201)
})

test("the installation's own host names cannot be registered, and look-alikes of the platform are ordinary", async () => {
  for (const name of ['sluice.test', 'mx.sluice.test', 'spf.sluice.test', 'BOUNCE.sluice.test']) {
    assert.equal((await register(name)).status, 409, name)
  }
  assert.equal((await register(`${unique('x')}-sluice.test`)).body.verified, false)
})

test('names under the platform that would pass for the installation are reserved, and what lies under them', async () => {
  const labels = ['admin', 'login', 'support', 'postmaster', 'abuse', 'operator', 'www', 'mail', 'smtp', 'imap', 'ns1']
  const alike = ['No-Reply', 'ádmin', 'аdmin', 'mta-sts', `${unique('x')}.billing`]
  for (const label of [...labels, ...alike]) {
    const { status, body } = await register(`${label}.sluice.test`)
    assert.equal(status, 409, label)
    assert.match(body.error.message, /reserved|installation itself/)
  }
  assert.equal((await register(`${unique('support')}.sluice.test`)).status, 201)
  assert.equal((await register(`support.${unique('acme')}.sluice.test`)).status, 201)
  assert.equal((await register(`admin.${unique('acme')}.example`)).status, 201)
})

test('inbound needs a verified MX record, else 409; switching it leaves one audit entry each', async () => {
  const domain = await aDomain()
  const inbound = (enabled: boolean) => account.api.post(`/v1/domains/${domain.id}/inbound`, { enabled })

  const early = await inbound(true)
  dns.publish(domain.records)
  await verify(domain.id)
  const on = await inbound(true)
  const again = await inbound(true)
  const off = await inbound(false)

  assert.equal(early.status, 409)
  assert.equal(early.body.error.code, 'mx_not_verified')
  assert.deepEqual([on.status, on.body.inbound_enabled], [200, true])
  assert.deepEqual([again.status, again.body.inbound_enabled], [200, true])
  assert.deepEqual([off.status, off.body.inbound_enabled], [200, false])
  assert.equal((await account.api.post(`/v1/domains/${domain.id}/inbound`, {})).status, 400)
  const { body } = await account.api.get('/v1/audit?action=domain.inbound')
  const entries = body.entries.filter((entry: { target: { id: string } }) => entry.target.id === domain.id)
  assert.deepEqual(
    entries.map((entry: { after: object }) => entry.after),
    [{ inbound_enabled: false }, { inbound_enabled: true }],
  )
})

test('losing the MX record takes mx_verified away and leaves inbound as it was', async () => {
  const domain = await aDomain()
  dns.publish(domain.records)
  await verify(domain.id)
  await account.api.post(`/v1/domains/${domain.id}/inbound`, { enabled: true })
  dns.remove(domain.name)
  dns.txt(domain.name, record(domain, 'spf').value)

  const checked = await verify(domain.id)

  assert.deepEqual([checked.verified, checked.mx_verified, checked.inbound_enabled], [true, false, true])
})

test('deleting answers 204, then 404, and is audited', async () => {
  const domain = await aDomain()

  assert.equal((await account.api.delete(`/v1/domains/${domain.id}`)).status, 204)

  assert.equal((await account.api.delete(`/v1/domains/${domain.id}`)).status, 404)
  assert.equal((await account.api.post(`/v1/domains/${domain.id}/verify`)).status, 404)
  const { body } = await account.api.get('/v1/audit')
  const entries = body.entries.filter((entry: { target: { id: string } }) => entry.target.id === domain.id)
  assert.deepEqual(
    entries.map((entry: { action: string }) => entry.action),
    ['domain.delete', 'domain.create'],
  )
  assert.equal(entries[0].before.name, domain.name)
})

test('a verified domain is a sender, a deleted one is none', async () => {
  const name = `${unique('sender')}.sluice.test`
  const send = () =>
    account.api.post('/v1/messages', {
      tenant_id: account.tenant.id,
      from: `hello@${name}`,
      to: ['someone@example.com'],
      text: 'x',
    })
  assert.equal((await send()).body.error.code, 'domain_not_verified')
  const { body: domain } = await register(name)
  assert.equal((await send()).status, 202)

  await account.api.delete(`/v1/domains/${domain.id}`)

  assert.equal((await send()).body.error.code, 'domain_not_verified')
})

test('the list is paged newest first, can be one tenant, and a tenant-bound key sees its own only', async () => {
  const owner = await anAccount({ box, tenants: 2 })
  const ids: string[] = []
  for (const tenant of [...owner.tenants, ...owner.tenants]) {
    ids.push((await register(`${unique('d')}.example.com`, owner, tenant.id)).body.id)
  }
  const [own, other] = [owner.tenants[0]!, owner.tenants[1]!]
  const bound = await owner.withKey({ scopes: ['read'], tenant_id: own.id })
  const idsOf = (body: { domains: { id: string }[] }) => body.domains.map(({ id }) => id)

  const first = await owner.api.get('/v1/domains?limit=3')
  const rest = await owner.api.get(`/v1/domains?limit=3&cursor=${first.body.next_cursor}`)

  assert.deepEqual([...idsOf(first.body), ...idsOf(rest.body)], ids.toReversed())
  assert.equal(rest.body.next_cursor, null)
  const ofOther = await owner.api.get(`/v1/domains?tenant_id=${other.id}`)
  assert.deepEqual(idsOf(ofOther.body), [ids[3], ids[1]])
  assert.deepEqual(idsOf((await bound.get('/v1/domains')).body), [ids[2], ids[0]])
  assert.equal((await bound.get(`/v1/domains?tenant_id=${other.id}`)).status, 404)
  assert.equal((await bound.post(`/v1/domains/${ids[0]}/verify`)).status, 403)
})

test('the private key is in no row in clear, opens with SECRET_KEY for its own row, and fits the public key', async () => {
  const domain = await aDomain()
  const { dkim_private_key: sealed } = await box.app.world.db.one<{ dkim_private_key: string }>(
    sql`select dkim_private_key from domains where id = ${domain.id}`,
  )

  const pem = box.app.world.secrets.open(`domains/${domain.id}/dkim`, sealed)

  const der = createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'der' })
  assert.equal(`v=DKIM1; k=rsa; p=${der.toString('base64')}`, record(domain, 'dkim').value)
  assert.throws(() => box.app.world.secrets.open(`domains/${account.id}/dkim`, sealed))
  const line = pem.split('\n')[5]!
  for (const table of ['domains', 'audit_entries', 'events']) {
    const { dump } = await box.app.world.db.one<{ dump: string }>(
      sql`select query_to_xml(${`select * from ${table}`}, true, true, '')::text as dump`,
    )
    assert.ok(!dump.includes('PRIVATE KEY') && !dump.includes(line), table)
  }
  assert.ok(!box.logLines.some(each => each.includes(line)))
})

test('concurrent twins of one name make one domain', async () => {
  const name = `${unique('d')}.example.com`

  const replies = await Promise.all(Array.from({ length: 4 }, () => register(name)))

  assert.deepEqual(replies.map(({ status }) => status).toSorted(), [201, 409, 409, 409])
})
