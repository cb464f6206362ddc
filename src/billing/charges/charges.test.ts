// Usage, preview and export of a month.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { aBox, type Box } from '../../../test/support/box.ts'
import { anAccount, aTenant, type TestAccount } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { aPriceList, referenceTotal } from './charges.fixture.ts'

let box: Box

before(async () => {
  box = await aBox({ environment: { ROLES: 'api' } })
  box.clock.set(new Date('2026-11-16T12:00:00Z'))
})

const aPlan = async (fields: object): Promise<string> =>
  (await box.operator.post('/admin/v1/plans', { name: 'Plan', ...fields })).body.id

interface Usage {
  tenantId: string
  day: string
  recipients: number | string
}

/** As acceptance would have counted it. */
const use = (accountId: string, rows: Usage[]): Promise<unknown> =>
  box.app.world.db.transact(system('test'), async tx => {
    for (const { tenantId, day, recipients } of rows) {
      await tx.run(sql`
        insert into usage_days (tenant_id, account_id, day, recipients, messages)
        values (${tenantId}, ${accountId}, ${day}, ${recipients}, 1)`)
    }
  })

async function anAccountWithUsage(): Promise<TestAccount> {
  const account = await anAccount({ tenants: 2, box })
  const [first, second] = account.tenants.map(tenant => tenant.id) as [string, string]
  await use(account.id, [
    { tenantId: first, day: '2026-10-31', recipients: 1_000_000 },
    { tenantId: first, day: '2026-11-01', recipients: 1_000 },
    { tenantId: second, day: '2026-11-01', recipients: 500 },
    { tenantId: first, day: '2026-11-30', recipients: 2_000 },
    { tenantId: second, day: '2026-12-01', recipients: 1_000_000 },
  ])
  return account
}

test('usage is told per day and per tenant, for the month that is asked for', async () => {
  const { api, tenants } = await anAccountWithUsage()

  const { body } = await api.get('/v1/billing/usage?month=2026-11')

  assert.deepEqual(body, {
    month: '2026-11',
    recipients: 3_500,
    messages: 3,
    days: [
      { date: '2026-11-01', recipients: 1_500, messages: 2 },
      { date: '2026-11-30', recipients: 2_000, messages: 1 },
    ],
    tenants: tenants
      .map(({ id }, index) => ({ tenant_id: id, recipients: [3_000, 500][index], messages: [2, 1][index] }))
      .toSorted((left, right) => (left.tenant_id < right.tenant_id ? -1 : 1)),
    next_cursor: null,
  })
  assert.deepEqual((await api.get('/v1/billing/usage')).body, body)
  const one = await api.get(`/v1/billing/usage?tenant_id=${tenants[1]!.id}`)
  assert.equal(one.body.recipients, 500)
  assert.deepEqual(one.body.days, [{ date: '2026-11-01', recipients: 500, messages: 1 }])
  assert.equal((await api.get('/v1/billing/usage?month=2027-01')).body.recipients, 0)
})

test('a preview charges the account for all that was sent, and shows each rate card beside it', async () => {
  const { api, id, tenants } = await anAccountWithUsage()
  const plan = { currency: 'USD', base_price_minor: 5_000, included_recipients: 3_000, overage_per_thousand_minor: 901 }
  const [own, card] = [await aPlan(plan), await aPlan({ overage_per_thousand_minor: 100, currency: 'EUR' })]
  await box.operator.post(`/admin/v1/accounts/${id}/plan`, { plan_id: own })
  await api.post('/v1/billing/assignments', { plan_id: card, tenant_id: tenants[1]!.id })

  const { status, body } = await api.get('/v1/billing/preview?month=2026-11')

  assert.equal(status, 200)
  assert.deepEqual(body, {
    month: '2026-11',
    preview: true,
    lines: [
      {
        tenant_id: null,
        plan_id: own,
        plan_name: 'Plan',
        currency: 'USD',
        base_minor: 5_000,
        overage_minor: 451,
        total_minor: 5_451,
        included_recipients: 3_000,
        recipients: 3_500,
      },
      {
        tenant_id: tenants[1]!.id,
        plan_id: card,
        plan_name: 'Plan',
        currency: 'EUR',
        base_minor: 0,
        overage_minor: 50,
        total_minor: 50,
        included_recipients: 0,
        recipients: 500,
      },
    ],
    next_cursor: null,
  })
})

test('usage and preview go on page by page; the line of the account is on the first', async () => {
  const { api, tenants } = await anAccountWithUsage()
  const plan_id = await aPlan({ base_price_minor: 1 })
  for (const { id } of tenants) await api.post('/v1/billing/assignments', { plan_id, tenant_id: id })
  const ids = tenants.map(({ id }) => id).toSorted()
  const pages = async (path: string, list: string): Promise<(string | null)[][]> => {
    const found: (string | null)[][] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await api.get(`${path}&limit=1${cursor && `&cursor=${cursor}`}`)
      found.push(body[list].map((each: { tenant_id: string | null }) => each.tenant_id))
      cursor = body.next_cursor
    }
    return found
  }
  assert.deepEqual(await pages('/v1/billing/usage?month=2026-11', 'tenants'), [[ids[0]], [ids[1]]])
  assert.deepEqual(await pages('/v1/billing/preview?month=2026-11', 'lines'), [[null, ids[0]], [ids[1]]])
  assert.equal((await api.get('/v1/billing/preview?cursor=forged')).status, 400)
  assert.equal((await api.get('/v1/billing/preview?limit=5001')).status, 400)
})

test("the newest assignment that is effective on the month's last day prices the month", async () => {
  const account = await anAccount({ tenants: 1, box })
  const assign = async (base_price_minor: number, effective_from: string, tenant_id: string | null = null) => {
    const plan_id = await aPlan({ base_price_minor })
    assert.equal(
      (await account.api.post('/v1/billing/assignments', { plan_id, effective_from, tenant_id })).status,
      201,
    )
  }
  const totals = async (month: string) =>
    (await account.api.get(`/v1/billing/preview?month=${month}`)).body.lines.map(
      (line: { total_minor: number }) => line.total_minor,
    )
  await assign(3, '2026-03-31')
  await assign(2, '2026-02-28')
  await assign(4, '2026-04-01')
  await assign(30, '2026-03-31')
  await assign(7, '2026-02-15', account.tenant.id)

  assert.deepEqual(await totals('2026-01'), [0])
  assert.deepEqual(await totals('2026-02'), [2, 7])
  // Of two with the same day, the one that was assigned last.
  assert.deepEqual(await totals('2026-03'), [30, 7])
  assert.deepEqual(await totals('2026-04'), [4, 7])
  assert.deepEqual(await totals('2030-01'), [4, 7])
})

test('an archived plan goes on pricing whom it was assigned to; without a plan nothing is charged', async () => {
  const { api, id } = await anAccountWithUsage()
  const line = async () => (await api.get('/v1/billing/preview')).body.lines[0]
  const { plan_id: none, currency, total_minor, recipients } = await line()
  assert.deepEqual([none, currency, total_minor, recipients], [null, null, 0, 3_500])
  const plan = await aPlan({ base_price_minor: 9 })
  await box.operator.post(`/admin/v1/accounts/${id}/plan`, { plan_id: plan })
  await box.operator.delete(`/admin/v1/plans/${plan}`)
  assert.equal((await line()).total_minor, 9)
})

test('a tenant key sees its own slice: no line of the account, nothing of its neighbours', async () => {
  const account = await anAccountWithUsage()
  const [mine, other] = account.tenants.map(tenant => tenant.id) as [string, string]
  const plan_id = await aPlan({ base_price_minor: 1 })
  for (const tenant_id of [null, mine, other]) await account.api.post('/v1/billing/assignments', { plan_id, tenant_id })
  const bound = await account.withKey({ scopes: ['read'], tenant_id: mine })

  const [usage, preview] = [await bound.get('/v1/billing/usage'), await bound.get('/v1/billing/preview')]
  const exported = await bound.get('/v1/billing/export')

  assert.equal(usage.body.recipients, 3_000)
  assert.deepEqual(
    preview.body.lines.map((line: { tenant_id: string; recipients: number }) => [line.tenant_id, line.recipients]),
    [[mine, 3_000]],
  )
  assert.deepEqual(new Set(exported.body.rows.map((row: { tenant_id: string }) => row.tenant_id)), new Set([mine]))
  assert.equal((await bound.get(`/v1/billing/usage?tenant_id=${other}`)).status, 404)
})

test('bad months and formats answer 400', async () => {
  const { api } = await anAccount({ tenants: 0, box })
  for (const path of ['usage', 'preview', 'export']) {
    for (const month of ['2026', '2026-13', '2026-00', '2026-1', '0000-01', '', 'x', '2026-11-01']) {
      assert.equal((await api.get(`/v1/billing/${path}?month=${month}`)).status, 400, `${path} ${month}`)
    }
  }
  assert.equal((await api.get('/v1/billing/export?format=xlsx')).status, 400)
  assert.equal((await box.operator.get('/admin/v1/billing/accounts?month=2026-13')).status, 400)
  for (const month of ['0001-02', '9999-12', '2028-02']) {
    assert.equal((await api.get(`/v1/billing/preview?month=${month}`)).body.month, month)
  }
})

test('the export is a file of rows per day and tenant, and names cannot become formulas', async () => {
  const account = await anAccount({ tenants: 0, box })
  const tenant = await aTenant(account.api, { external_id: '@SUM(A1)', name: '=cmd|\' /C calc\'!A0, "Zoë"' })
  await use(account.id, [
    { tenantId: tenant.id, day: '2026-11-02', recipients: 7 },
    { tenantId: tenant.id, day: '2026-11-01', recipients: '9223372036854775807' },
  ])

  const csv = await fetch(`${box.url}/v1/billing/export?format=csv`, {
    headers: { authorization: `Bearer ${account.bearer}` },
  })
  const json = await fetch(`${box.url}/v1/billing/export`, { headers: { authorization: `Bearer ${account.bearer}` } })

  assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(csv.headers.get('content-disposition'), 'attachment; filename="usage-2026-11.csv"')
  const bytes = Buffer.from(await csv.arrayBuffer())
  assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf])
  const name = `"'=cmd|' /C calc'!A0, ""Zoë"""`
  assert.equal(
    bytes.subarray(3).toString(),
    'date,tenant_id,external_id,tenant_name,recipients,messages\r\n' +
      `2026-11-01,${tenant.id},"'@SUM(A1)",${name},9223372036854775807,1\r\n` +
      `2026-11-02,${tenant.id},"'@SUM(A1)",${name},7,1\r\n`,
  )
  assert.equal(json.headers.get('content-type'), 'application/json; charset=utf-8')
  const text = await json.text()
  assert.match(text, /"recipients":9223372036854775807,/)
  assert.deepEqual(JSON.parse(text).rows[1], {
    date: '2026-11-02',
    tenant_id: tenant.id,
    external_id: '@SUM(A1)',
    tenant_name: '=cmd|\' /C calc\'!A0, "Zoë"',
    recipients: 7,
    messages: 1,
  })
  const empty = await account.api.get('/v1/billing/export?month=2020-01')
  assert.deepEqual(empty.body, { month: '2020-01', rows: [] })
})

test('an export of many slices has every row once, in both forms', async () => {
  const { api, id, tenant } = await anAccount({ box })
  await box.app.world.db.transact(system('test'), async tx => {
    await tx.run(sql`
      insert into tenants (id, account_id, external_id, name, created_at)
      select gen_random_uuid(), ${id}, 'many-' || n, 'Many', ${tx.now} from generate_series(1, 2000) as n`)
    await tx.run(sql`
      insert into usage_days (tenant_id, account_id, day, recipients, messages)
      select id, account_id, day, 1, 1 from tenants cross join generate_series('2026-11-01'::date, '2026-11-03', '1 day') as day
      where account_id = ${id} and id <> ${tenant.id}`)
  })
  const { body: json } = await api.get('/v1/billing/export')
  const { body: csv } = await api.get('/v1/billing/export?format=csv')
  const days = new Set(json.rows.map((row: { date: string; tenant_id: string }) => row.date + row.tenant_id))
  assert.deepEqual([json.rows.length, days.size, csv.trimEnd().split('\r\n').length], [6_000, 6_000, 6_001])
})

test('amounts beyond 2^53 arrive with every digit', async () => {
  const { api, bearer, id, tenant } = await anAccount({ box })
  const largest = Number.MAX_SAFE_INTEGER
  const plan_id = await aPlan({ base_price_minor: largest, overage_per_thousand_minor: largest })
  await api.post('/v1/billing/assignments', { plan_id })
  await use(id, [{ tenantId: tenant.id, day: '2026-11-05', recipients: '9223372036854775807' }])
  const reply = await fetch(`${box.url}/v1/billing/preview`, { headers: { authorization: `Bearer ${bearer}` } })
  const overage = (9_223_372_036_854_775_807n * BigInt(largest) + 500n) / 1000n
  const text = await reply.text()
  assert.ok(text.includes(`"overage_minor":${overage},`), text)
  assert.ok(text.includes(`"total_minor":${overage + BigInt(largest)},`), text)
  assert.ok(text.includes('"recipients":9223372036854775807'), text)
})

test('the operator reads usage and charge of every account, page by page', async () => {
  const account = await anAccountWithUsage()
  const plan_id = await aPlan({ base_price_minor: 100, currency: 'CHF', overage_per_thousand_minor: 1_000 })
  await box.operator.post(`/admin/v1/accounts/${account.id}/plan`, { plan_id })
  await anAccount({ tenants: 0, box })
  const { body: all } = await box.operator.get('/admin/v1/accounts?limit=500')

  const seen: { account_id: string }[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body } = await box.operator.get(`/admin/v1/billing/accounts?limit=3${cursor && `&cursor=${cursor}`}`)
    assert.deepEqual([body.month, body.preview], ['2026-11', true])
    for (const each of body.accounts) seen.push(each)
    cursor = body.next_cursor
  }

  assert.deepEqual(
    seen.map(each => each.account_id),
    all.accounts.map((each: { id: string }) => each.id),
  )
  assert.deepEqual(
    seen.find(each => each.account_id === account.id),
    {
      account_id: account.id,
      name: 'Test account',
      messages: 3,
      plan_id,
      plan_name: 'Plan',
      currency: 'CHF',
      base_minor: 100,
      overage_minor: 3_500,
      total_minor: 3_600,
      included_recipients: 0,
      recipients: 3_500,
    },
  )
})

test('preview, export and the sum of events agree, whatever the plans', async () => {
  const account = await anAccount({ tenants: 3, sandbox: true, box })
  await account.api.post('/v1/suppressions', { address: 'u0@example.com', reason: 'manual' })
  for (const [index, day] of [
    '2026-11-16',
    '2026-11-30',
    '2026-11-03',
    '2026-12-01',
    '2026-11-29',
    '2026-11-16',
  ].entries()) {
    box.clock.set(new Date(`${day}T23:59:50Z`))
    const sent = await account.api.post('/v1/messages', {
      tenant_id: account.tenants[index % 3]!.id,
      from: 'a@acme.example',
      to: Array.from({ length: 1 + index * 7 }, (_, n) => `u${n}@example.com`),
      text: 'x',
    })
    assert.equal(sent.status, 202, JSON.stringify(sent.body))
  }
  box.clock.set(new Date('2026-11-30T12:00:00Z'))
  const accepted = await box.app.world.db.many<{ tenant_id: string; count: number }>(sql`
    select tenant_id, count(*) as count from events
    where account_id = ${account.id} and type = 'accepted' and created_at between '2026-11-01Z' and '2026-12-01Z'
    group by tenant_id`)
  const events = new Map(accepted.map(row => [row.tenant_id, row.count]))
  const all = accepted.reduce((sum, row) => sum + row.count, 0)
  const { body: exported } = await account.api.get('/v1/billing/export?month=2026-11')
  const rows = exported.rows as { tenant_id: string; recipients: number }[]
  for (const { id } of account.tenants) {
    const used = rows.filter(row => row.tenant_id === id).reduce((sum, row) => sum + row.recipients, 0)
    assert.equal(used, events.get(id) ?? 0)
  }

  await fc.assert(
    fc.asyncProperty(fc.array(aPriceList, { minLength: 4, maxLength: 4 }), async plans => {
      const scopes = [null, ...account.tenants.map(tenant => tenant.id)]
      for (const [index, tenant_id] of scopes.entries()) {
        const plan_id = await aPlan(plans[index]!)
        const made = await account.api.post('/v1/billing/assignments', {
          plan_id,
          tenant_id,
          effective_from: '2026-11-30',
        })
        assert.equal(made.status, 201)
      }
      const reply = await fetch(`${box.url}/v1/billing/preview?month=2026-11`, {
        headers: { authorization: `Bearer ${account.bearer}` },
      })
      const text = await reply.text()
      const lines = JSON.parse(text).lines as { tenant_id: string | null; recipients: number }[]
      assert.equal(lines.length, 4)
      const totals = [...text.matchAll(/"total_minor":(\d+)/g)].map(match => BigInt(match[1]!))
      for (const [at, line] of lines.entries()) {
        const recipients = line.tenant_id === null ? all : (events.get(line.tenant_id) ?? 0)
        assert.equal(line.recipients, recipients)
        assert.equal(totals[at], referenceTotal(plans[scopes.indexOf(line.tenant_id)]!, BigInt(recipients)))
      }
    }),
    { numRuns: 15 },
  )
})
