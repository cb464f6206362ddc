// After a pause call has answered no SMTP transaction that it matches begins, whichever worker is at work, and
// nothing is lost or doubled by pausing and resuming in the middle of a send.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { aBox } from '../support/box.ts'
import { anAccount, eventually } from '../support/factories.ts'
import { aSink } from '../support/sink.ts'

const ROUNDS = 9
const RECIPIENTS = 40

const sink = await aSink()
after(() => sink.close())

test('pauses race two workers: nothing begins after the answer, everything arrives once in the end', async t => {
  const environment = { SMTP_ROUTES: `*=127.0.0.1:${sink.port}` }
  const box = await aBox({ until: t, environment })
  await aBox({ environment: { ...environment, ROLES: 'worker' }, databaseUrl: box.databaseUrl })
  const account = await anAccount({ box })
  const { api, tenant } = account
  await api.post(`/v1/tenants/${tenant.id}/domains`, { name: 'race.sluice.test' })
  let begun: number[] = []
  sink.answer = verb => {
    if (verb === 'MAIL') begun.push(performance.now())
    return null
  }
  let stopped = 0
  for (let round = 0; round < ROUNDS; round++) {
    begun = []
    // One transaction each: every recipient is at a destination of its own.
    const to = Array.from({ length: RECIPIENTS }, (_, index) => `r${round}@d${index}.example`)
    const sent = await api.post('/v1/messages', { tenant_id: tenant.id, from: 'a@race.sluice.test', to, text: 'x' })
    assert.equal(sent.status, 202)
    await delay(round * 4)
    const paused = await api.post(`/v1/tenants/${tenant.id}/pause`)
    const answered = performance.now()
    assert.equal(paused.status, 201)
    await eventually('all are delivered or held', async () => {
      const { counts } = (await api.get(`/v1/messages/${sent.body.message_id}`)).body
      return (counts.delivered ?? 0) + (counts.held ?? 0) === RECIPIENTS
    })
    assert.deepEqual(
      begun.filter(time => time > answered),
      [],
      `round ${round}: a transaction began after the pause had answered`,
    )
    const { body: pause } = await api.get(`/v1/suspensions/${paused.body.id}`)
    stopped += pause.held_count
    const resumed = await api.post(`/v1/tenants/${tenant.id}/resume`)
    assert.equal(resumed.body.affected_deliveries, pause.held_count)
    await eventually('all are delivered', async () => {
      const { counts } = (await api.get(`/v1/messages/${sent.body.message_id}`)).body
      return counts.delivered === RECIPIENTS
    })
  }
  assert.ok(stopped > RECIPIENTS, `the pauses stopped something: ${stopped}`)
  assert.equal(sink.received.length, ROUNDS * RECIPIENTS)
  assert.equal(new Set(sink.received.flatMap(mail => mail.recipients)).size, ROUNDS * RECIPIENTS)
})
