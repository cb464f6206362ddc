// Checkout, portal and the events of the payment provider, against a stand-in that checks what Stripe checks.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { aBox, theBox, type Box } from '../../../test/support/box.ts'
import { anAccount, unique, type TestAccount } from '../../../test/support/factories.ts'
import { aStripe, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, type StripeStandIn } from '../../../test/support/stripe.ts'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { runFor } from '../../platform/owner.ts'
import { PaymentProvider } from './provider.ts'

let stripe: StripeStandIn
let box: Box

before(async () => {
  stripe = await aStripe()
  box = await aBox({ environment: { ROLES: 'api', PUBLIC_URL: 'https://mail.example', ...stripe.environment } })
})
after(() => stripe.close())

interface TestPlan {
  id: string
  name: string
  payment_price_id: string
}

async function aPlan(fields: object = {}, of: Box = box): Promise<TestPlan> {
  const payment_price_id = unique('price')
  stripe.prices.add(payment_price_id)
  return (await of.operator.post('/admin/v1/plans', { name: unique('Plan'), payment_price_id, ...fields })).body
}

interface TestEvent {
  id: string
  type: string
  created: number
  data: { object: object }
}

const seconds = (): number => Math.floor(box.clock.now().getTime() / 1000)

const anEvent = (type: string, object: object, created = seconds()): TestEvent => ({
  id: unique('evt'),
  type,
  created,
  data: { object },
})

/** As the provider posts it. */
async function post(event: object | string, headers: Record<string, string> = {}, to: Box = box) {
  const body = typeof event === 'string' ? event : JSON.stringify(event)
  return to.client().request('POST', '/webhooks/payments', {
    body,
    headers: { 'stripe-signature': stripe.sign(body, to.clock.now()), ...headers },
  })
}

interface Subscribed {
  customer: string
  subscription: string
}

const completed = (account: TestAccount, plan: TestPlan, { customer, subscription }: Subscribed, created?: number) =>
  anEvent(
    'checkout.session.completed',
    {
      id: unique('cs'),
      object: 'checkout.session',
      mode: 'subscription',
      payment_status: 'paid',
      customer,
      subscription,
      client_reference_id: account.id,
      metadata: { account_id: account.id, plan_id: plan.id },
    },
    created,
  )

const changed = (
  kind: 'created' | 'updated' | 'deleted',
  { customer, subscription, status, plan }: Subscribed & { status: string; plan: TestPlan },
  created?: number,
) =>
  anEvent(
    `customer.subscription.${kind}`,
    {
      id: subscription,
      object: 'subscription',
      customer,
      status,
      created: 1_700_000_000,
      metadata: {},
      items: { object: 'list', data: [{ id: 'si', price: { id: plan.payment_price_id } }] },
    },
    created,
  )

const aSubscription = (): Subscribed => ({ customer: unique('cus'), subscription: unique('sub') })

/** What payments assigned, newest first, and the tier. */
async function standing({ api }: TestAccount): Promise<{ plans: (string | null)[]; tier: string }> {
  const { body } = await api.get('/v1/billing/assignments')
  return {
    plans: body.assignments.map((each: { plan_id: string | null }) => each.plan_id),
    tier: (await api.get('/v1/account')).body.tier,
  }
}

test('a checkout is a page of the provider for the price of the plan, and is audited without its URL', async () => {
  const { api, id } = await anAccount({ tenants: 0, box })
  const plan = await aPlan()

  const { status, body } = await api.post('/v1/billing/checkout', { plan_id: plan.id })

  assert.equal(status, 200)
  const { path, params } = stripe.calls.at(-1)!
  assert.equal(path, '/v1/checkout/sessions')
  assert.match(body.url, /^https:\/\/pay\.example\/cs_\d+$/)
  assert.deepEqual(params, {
    mode: 'subscription',
    'line_items[0][price]': plan.payment_price_id,
    'line_items[0][quantity]': '1',
    client_reference_id: id,
    'metadata[account_id]': id,
    'metadata[plan_id]': plan.id,
    'subscription_data[metadata][account_id]': id,
    'subscription_data[metadata][plan_id]': plan.id,
    success_url: 'https://mail.example/?checkout=completed',
    cancel_url: 'https://mail.example/?checkout=cancelled',
  })
  const { entries } = (await api.get('/v1/audit?action=payment.checkout')).body
  assert.equal(entries.length, 1)
  assert.ok(!JSON.stringify(entries).includes('pay.example'))
})

test('a call that broke is repeated under its idempotency key, and makes one page', async () => {
  const { api } = await anAccount({ tenants: 0, box })
  const plan = await aPlan()
  const [calls, requests] = [stripe.calls.length, stripe.requests]
  stripe.faults.push('drop')
  assert.equal((await api.post('/v1/billing/checkout', { plan_id: plan.id })).status, 200)
  assert.deepEqual([stripe.calls.length - calls, stripe.requests - requests], [1, 2])
})

test('checkout refuses in order: 404, 400, 409, 503', async () => {
  const { api } = await anAccount({ tenants: 0, box })
  const [priceless, archived] = [await aPlan({ payment_price_id: null }), await aPlan()]
  await box.operator.delete(`/admin/v1/plans/${archived.id}`)
  const outcome = async (plan_id: unknown, by = api) => {
    const { status, body } = await by.post('/v1/billing/checkout', { plan_id })
    return [status, body.error.code]
  }
  assert.deepEqual(await outcome(randomUUID()), [404, 'not_found'])
  assert.deepEqual(await outcome('x'), [400, 'invalid_request'])
  assert.deepEqual(await outcome(priceless.id), [409, 'plan_not_purchasable'])
  assert.deepEqual(await outcome(archived.id), [409, 'plan_not_purchasable'])
  const bare = await theBox()
  const elsewhere = await anAccount({ tenants: 0 })
  const [sold, unsold] = [await aPlan({}, bare), await aPlan({ payment_price_id: null }, bare)]
  assert.deepEqual(await outcome(unsold.id, elsewhere.api), [409, 'plan_not_purchasable'])
  assert.deepEqual(await outcome(sold.id, elsewhere.api), [503, 'not_configured'])
})

test('the portal needs a customer first, then payments', async () => {
  const account = await anAccount({ tenants: 0, box })
  const portal = async ({ api }: TestAccount) => {
    const { status, body } = await api.post('/v1/billing/portal')
    return [status, body.error?.code ?? body.url]
  }
  assert.deepEqual(await portal(account), [409, 'no_payment_customer'])
  const subscribed = aSubscription()
  await post(completed(account, await aPlan(), subscribed))
  // The provider has forgotten it.
  assert.deepEqual(await portal(account), [409, 'no_payment_customer'])
  stripe.customers.add(subscribed.customer)
  const [status, url] = await portal(account)
  assert.deepEqual(
    [status, stripe.calls.at(-1)!.params],
    [200, { customer: subscribed.customer, return_url: 'https://mail.example/' }],
  )
  assert.match(url, /^https:\/\/pay\.example\/bps_/)
  assert.equal((await account.api.get('/v1/audit?action=payment.portal')).body.entries.length, 1)
  const elsewhere = await anAccount({ tenants: 0 })
  assert.deepEqual(await portal(elsewhere), [409, 'no_payment_customer'])
  await elsewhere.box.app.world.db.transact(system('test'), tx =>
    tx.run(sql`insert into payment_customers values (${unique('cus')}, ${elsewhere.id}, ${tx.now})`),
  )
  assert.deepEqual(await portal(elsewhere), [503, 'not_configured'])
})

test('a provider that fails, answers garbage or knows no such price is told apart, and no secret is', async () => {
  const { api } = await anAccount({ tenants: 0, box })
  const plan = await aPlan()
  const outcome = async () => {
    const { status, body } = await api.post('/v1/billing/checkout', { plan_id: plan.id })
    return [status, body.error.code]
  }
  for (const faults of [['refuse', 'refuse'], ['garbage', 'garbage'], ['no_url']] as const) {
    stripe.faults.push(...faults)
    assert.deepEqual(await outcome(), [503, 'unavailable'], faults.join())
    stripe.faults.length = 0
  }
  stripe.prices.delete(plan.payment_price_id)
  assert.deepEqual(await outcome(), [409, 'plan_not_purchasable'])
  assert.equal((await api.get('/v1/audit?action=payment.checkout')).body.entries.length, 0)
  const logged = box.logLines.join('')
  for (const secret of [STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET]) assert.ok(!logged.includes(secret))
})

test('a provider that never ends its answer is given up, and an account waits for its own pages only', async () => {
  const { STRIPE_API_URL: apiUrl } = stripe.environment
  const provider = new PaymentProvider({
    secretKey: STRIPE_SECRET_KEY,
    webhookSecret: STRIPE_WEBHOOK_SECRET,
    apiUrl: apiUrl!,
    callMs: 300,
  })
  const page = () =>
    provider.portal({ customerId: 'cus', returnUrl: 'https://x.example/', idempotencyKey: randomUUID() })
  stripe.faults.push('drip', 'drip')
  const slow = [1, 2].map(() => runFor('acme', page))
  await assert.rejects(slow[0]!, { code: 'unavailable' })
  await assert.rejects(slow[1]!, { code: 'unavailable' })
  await assert.rejects(runFor('acme', page), { code: 'no_payment_customer' })
})

test('a completed checkout assigns the plan and sets the tier once, however often it is told', async () => {
  const account = await anAccount({ tenants: 0, box })
  const plan = await aPlan()
  const event = completed(account, plan, aSubscription())

  const replies = await Promise.all([post(event), post(event), post(event)])
  replies.push(await post(event))

  assert.deepEqual(
    replies.map(each => [each.status, each.body]),
    replies.map(() => [200, { received: true }]),
  )
  assert.deepEqual(await standing(account), { plans: [plan.id], tier: plan.name })
  const { entries } = (await account.api.get('/v1/audit')).body
  const byPayments = entries.filter((entry: { actor: { name: string } }) => entry.actor.name === 'payments')
  assert.deepEqual(
    byPayments.map((entry: { action: string; actor: { type: string } }) => [entry.action, entry.actor.type]),
    [
      ['account.update', 'system'],
      ['assignment.create', 'system'],
    ],
  )
  const { body } = await account.api.get('/v1/billing/assignments')
  assert.equal(body.assignments[0].source, 'payment')
})

test('a change of plan moves both, the end of the subscription takes them back', async () => {
  const account = await anAccount({ tenants: 0, box })
  const [small, large, subscribed] = [await aPlan(), await aPlan(), aSubscription()]
  await post(completed(account, small, subscribed))
  await post(changed('updated', { ...subscribed, status: 'active', plan: large }, seconds() + 1))
  // The same plan again, and payment that is late, change nothing.
  await post(changed('updated', { ...subscribed, status: 'past_due', plan: large }, seconds() + 2))
  assert.deepEqual(await standing(account), { plans: [large.id, small.id], tier: large.name })
  await post(changed('deleted', { ...subscribed, status: 'canceled', plan: large }, seconds() + 3))
  assert.deepEqual(await standing(account), { plans: [null, large.id, small.id], tier: 'free' })
})

test('events may come in any order: the newest state of the subscription wins', async () => {
  const [small, large] = [await aPlan(), await aPlan()]
  const t = seconds()
  for (const isCancelled of [false, true]) {
    for (const order of [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [2, 0, 3, 1],
      [1, 3, 0, 2],
      [3, 0, 1, 2],
    ]) {
      const account = await anAccount({ tenants: 0, box })
      const subscribed = aSubscription()
      const events = [
        changed('created', { ...subscribed, status: 'incomplete', plan: small }, t),
        completed(account, small, subscribed, t),
        changed('updated', { ...subscribed, status: 'active', plan: small }, t + 1),
        isCancelled
          ? changed('deleted', { ...subscribed, status: 'canceled', plan: small }, t + 2)
          : changed('updated', { ...subscribed, status: 'active', plan: large }, t + 2),
      ]
      for (const index of order) assert.equal((await post(events[index]!)).status, 200)
      const { plans, tier } = await standing(account)
      const place = `${order.join()} ${isCancelled}`
      assert.deepEqual([plans[0] ?? null, tier], isCancelled ? [null, 'free'] : [large.id, large.name], place)
    }
  }
})

test('of two subscriptions the one that was made last says the plan, in whatever order their events come', async () => {
  const [older, newer] = [await aPlan(), await aPlan()]
  const now = seconds()
  for (const order of [
    [0, 1, 2, 3],
    [1, 0, 3, 2],
    [2, 3, 1, 0],
    [3, 1, 2, 0],
  ]) {
    const account = await anAccount({ box })
    const made = (plan: TestPlan, at: number, paidAt: number) => {
      const subscribed = aSubscription()
      const event = changed('created', { ...subscribed, status: 'active', plan }, at)
      Object.assign(event.data.object, { created: at, metadata: { account_id: account.id } })
      return [event, completed(account, plan, subscribed, paidAt)]
    }
    // The older one was paid for last.
    const events = [...made(older, now, now + 20), ...made(newer, now + 10, now + 12)]
    for (const n of order) assert.equal((await post(events[n]!)).status, 200)
    const { plans, tier } = await standing(account)
    assert.deepEqual([plans[0], tier], [newer.id, newer.name], order.join())
  }
})

test('a payment that tells no price leaves the plan that the customer changed to, in any order', async () => {
  const [bought, larger] = [await aPlan(), await aPlan()]
  const t = seconds()
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [0, 2, 1],
  ]) {
    const account = await anAccount({ tenants: 0, box })
    const subscribed = aSubscription()
    const [ordered, paid] = [completed(account, bought, subscribed, t), completed(account, bought, subscribed, t + 200)]
    Object.assign(ordered.data.object, { payment_status: 'unpaid' })
    const events = [
      ordered,
      changed('updated', { ...subscribed, status: 'active', plan: larger }, t + 100),
      { ...paid, type: 'checkout.session.async_payment_succeeded' },
    ]
    for (const index of order) assert.equal((await post(events[index]!)).status, 200)
    const { plans, tier } = await standing(account)
    assert.deepEqual([plans[0], tier], [larger.id, larger.name], order.join())
  }
})

test('a price counts that is told after a newer event without one; of several the newest', async () => {
  const account = await anAccount({ tenants: 0, box })
  const [first, second, subscribed] = [await aPlan(), await aPlan(), aSubscription()]
  const t = seconds()
  const checkout = completed(account, first, subscribed, t + 20)
  Object.assign(checkout.data.object, { metadata: {} })
  await post(checkout)
  assert.deepEqual((await standing(account)).plans, [])
  await post(changed('created', { ...subscribed, status: 'incomplete', plan: first }, t))
  assert.equal((await standing(account)).tier, first.name)
  await post(changed('updated', { ...subscribed, status: 'active', plan: second }, t + 10))
  assert.equal((await standing(account)).tier, second.name)
})

test('an event that does not say when it was made counts as made when it came', async () => {
  const account = await anAccount({ tenants: 0, box })
  const [plan, subscribed] = [await aPlan(), aSubscription()]
  const { created: _, ...untimed } = completed(account, plan, subscribed)
  assert.equal((await post(untimed)).status, 200)
  await post(changed('updated', { ...subscribed, status: 'unpaid', plan }, seconds() - 60))
  assert.equal((await standing(account)).tier, plan.name)
  await post(changed('updated', { ...subscribed, status: 'unpaid', plan }, seconds() + 60))
  assert.equal((await standing(account)).tier, 'free')
  assert.equal((await post({ ...untimed, id: unique('evt'), created: 'x' })).status, 400)
})

test('of two subscriptions the newer live one counts, and the end of the other changes nothing', async () => {
  const account = await anAccount({ tenants: 0, box })
  const [first, second, old, young] = [await aPlan(), await aPlan(), aSubscription(), aSubscription()]
  await post(completed(account, first, old))
  await post(completed(account, second, young, seconds() + 10))
  assert.equal((await standing(account)).tier, second.name)
  await post(changed('deleted', { ...old, status: 'canceled', plan: first }, seconds() + 20))
  assert.equal((await standing(account)).tier, second.name)
  await post(changed('deleted', { ...young, status: 'canceled', plan: second }, seconds() + 30))
  assert.deepEqual(await standing(account), { plans: [null, second.id, first.id], tier: 'free' })
})

test('a subscription of an unknown customer is 200 and logged, and counts once a checkout says whose it is', async () => {
  const account = await anAccount({ tenants: 0, box })
  const [plan, subscribed] = [await aPlan(), aSubscription()]
  const early = changed('updated', { ...subscribed, status: 'active', plan }, seconds() + 5)
  assert.equal((await post(early)).status, 200)
  assert.match(
    box.logLines.find(line => line.includes(early.id))!,
    /unknown_customer/,
  )
  assert.deepEqual(await standing(account), { plans: [], tier: 'free' })
  await post(completed(account, plan, subscribed))
  assert.deepEqual(await standing(account), { plans: [plan.id], tier: plan.name })
  const stranger = { ...account, id: randomUUID() }
  assert.equal((await post(completed(stranger, plan, aSubscription()))).status, 200)
})

test('a price that no plan has changes nothing and is logged; unknown events are 200', async () => {
  const account = await anAccount({ tenants: 0, box })
  const [plan, subscribed] = [await aPlan(), aSubscription()]
  const other = { ...plan, payment_price_id: unique('price') }
  const event = changed('updated', { ...subscribed, status: 'active', plan: other })
  Object.assign(event.data.object, { metadata: { account_id: account.id } })
  assert.equal((await post(event)).status, 200)
  assert.match(
    box.logLines.find(line => line.includes(event.id))!,
    /unknown_price/,
  )
  for (const type of ['invoice.paid', 'customer.created', 'nonsense']) {
    assert.equal((await post(anEvent(type, { customer: subscribed.customer }))).status, 200)
  }
  assert.deepEqual(await standing(account), { plans: [], tier: 'free' })
})

test('a signature is over the raw body, by the secret, and not older than 300 seconds', async () => {
  const now = box.clock.now()
  // Neither parsing nor writing it anew would give the same bytes.
  const body = `{ "id": "${unique('evt')}",\n"type":"x.y", "created": 1.0e0, "data": {"object": {"a": "\\u00e9 é"}} }`
  const signed = (header: string, sent = body) => post(sent, { 'stripe-signature': header })
  const at = (ageSeconds: number) => new Date(now.getTime() - ageSeconds * 1000)
  const fresh = stripe.sign(body, now)
  for (const header of [
    '',
    'x',
    't=1',
    `t=${seconds()}`,
    fresh.replace(/.$/, last => (last === '0' ? '1' : '0')),
    fresh.replace('v1=', 'v0='),
    stripe.sign(body, now, 'whsec_another_secret'),
    stripe.sign(body, at(330)),
    stripe.sign(`${body} `, now),
  ]) {
    const { status, body: said } = await signed(header)
    assert.deepEqual([status, said.error.code], [400, 'invalid_request'], header)
  }
  assert.equal((await box.client().request('POST', '/webhooks/payments', { body })).status, 400)
  assert.equal((await box.client().request('POST', '/webhooks/payments')).status, 400)
  assert.equal((await signed(stripe.sign(body, at(280)))).status, 200)
  const plain = { 'stripe-signature': fresh, 'content-type': 'text/plain' }
  assert.equal((await post(body, plain)).status, 200)
  for (const odd of ['null', '[]', '{}', '{"id":1}', 'x', '{"id":"e","type":"t","created":1,"data":null}']) {
    assert.equal((await post(odd)).status, 400, odd)
  }
})

test('five megabytes are 413, and without a configured secret every event is 400', async () => {
  const large = await post(JSON.stringify(anEvent('x.y', { text: 'x'.repeat(5 * 1024 * 1024) })))
  assert.deepEqual([large.status, large.body.error.code], [413, 'payload_too_large'])
  const bare = await post(anEvent('x.y', {}), {}, await theBox())
  assert.deepEqual([bare.status, bare.body.error.code], [400, 'invalid_request'])
})

test('processed events are forgotten after 90 days, a few at a time', async () => {
  const { db } = box.app.world
  await db.transact(system('test'), tx =>
    tx.run(sql`
      insert into payment_events (id, received_at)
      select 'old-' || n, ${tx.now}::timestamptz - interval '91 days' from generate_series(1, 150) as n`),
  )
  const left = async () =>
    (await db.one<{ count: number }>(sql`select count(*) as count from payment_events where id like 'old-%'`)).count
  await post(anEvent('x.y', {}))
  assert.equal(await left(), 50)
  await post(anEvent('x.y', {}))
  assert.equal(await left(), 0)
})
