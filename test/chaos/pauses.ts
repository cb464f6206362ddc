// Pauses against eight workers, each a process: after a pause call has answered, no SMTP transaction that it matches begins
// by the clock of the sink, and nothing is lost or doubled.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Chaos } from './run.ts'
import { aSender, aSite } from './site.ts'

const WORKERS = 8
const RECIPIENTS = 60

export async function runPauses({ rounds, random }: Chaos): Promise<string[]> {
  const site = await aSite()
  const api = await site.aServer({ ROLES: 'api' })
  await api.start()
  for (let n = 0; n < WORKERS; n++) await (await site.aServer({ ROLES: 'worker', DATABASE_POOL: '6' })).start()
  const sender = await aSender(api)
  const client = new pg.Client({ connectionString: site.databaseUrl })
  await client.connect()
  const open = async (): Promise<number> =>
    Number((await client.query(`select count(*) from queue where status <> 'held'`)).rows[0].count)
  const faults: string[] = []
  let began: number[] = []
  site.sink.answer = verb => {
    if (verb === 'MAIL') began.push(performance.now())
    return null
  }
  let held = 0
  for (let round = 1; round <= rounds; round++) {
    began = []
    const to = Array.from({ length: RECIPIENTS }, (_, index) => `r${round}@d${index}.example`)
    const message = { tenant_id: sender.tenantId, from: 'a@chaos.sluice.test', to, text: 'x' }
    const sent = await sender.post(api, '/v1/messages', message)
    if (sent.status !== 202) throw new Error(`refused: ${JSON.stringify(sent.body)}`)
    await delay(random(120))
    await sender.post(api, `/v1/tenants/${sender.tenantId}/pause`, {})
    const answered = performance.now()
    while ((await open()) > 0) await delay(20)
    const late = began.filter(time => time > answered)
    if (late.length > 0) {
      const most = Math.max(...late) - answered
      faults.push(
        `round ${round}: ${late.length} transactions began after the answer, the last ${most.toFixed(1)} ms after`,
      )
    }
    const resumed = await sender.post(api, `/v1/tenants/${sender.tenantId}/resume`, {})
    held += resumed.body.affected_deliveries
    while (Number((await client.query('select count(*) from queue')).rows[0].count) > 0) await delay(20)
    if (round % 20 === 0) console.log(`round ${round}: ${held} stopped so far`)
  }
  const received = site.sink.received.flatMap(mail => mail.recipients)
  const wanted = rounds * RECIPIENTS
  if (received.length !== wanted) faults.push(`received ${received.length}, expected ${wanted}`)
  if (new Set(received).size !== wanted) faults.push(`${wanted - new Set(received).size} recipients got nothing`)
  if (held === 0) faults.push('no pause stopped anything')
  await client.end()
  await site.close()
  return faults
}
