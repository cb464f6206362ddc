// Two server processes under load, and a database that goes away for four seconds, again and again, while nobody dies. In
// every other round its server crashes as well. Afterwards each recipient has one copy, nothing is set aside or lost.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { checkBooks } from './books.ts'
import { drive, type Load } from './kills.ts'
import { aReceiver } from './receiver.ts'
import type { Chaos } from './run.ts'
import { aSender, aSite, type Site } from './site.ts'

const CLIENTS = 8
const OUTAGE_MS = 4_000
/** Between two outages, so that each meets the service at work. */
const ACKNOWLEDGED_MIN = 150

export async function runOutages({ rounds, random }: Chaos): Promise<string[]> {
  const site = await aSite()
  const servers = [await site.aServer(), await site.aServer()]
  await Promise.all(servers.map(server => server.start()))
  const sender = await aSender(servers[0]!)
  const receiver = await aReceiver(random)
  const hook = await sender.post(servers[0]!, '/v1/webhooks', { url: receiver.url })
  if (hook.status !== 201) throw new Error(`the webhook was refused: ${JSON.stringify(hook.body)}`)
  const load: Load = { acknowledged: new Map(), attempts: 0, isOver: false }
  const clients = Array.from({ length: CLIENTS }, (_, client) => drive(client, load, servers, sender))
  for (let round = 1; round <= rounds; round++) {
    const before = load.acknowledged.size
    while (load.acknowledged.size < before + ACKNOWLEDGED_MIN) await delay(20)
    await delay(random(500))
    site.proxy.cut()
    if (round % 2 === 0) await site.killPostgres()
    console.log(`round ${round}: the database is away, ${load.acknowledged.size} acknowledged`)
    await delay(OUTAGE_MS)
    site.proxy.restore()
  }
  await delay(2_000)
  load.isOver = true
  await Promise.all(clients)
  console.log(`${load.acknowledged.size} acknowledged of ${load.attempts} attempts; waiting for the queue to drain`)
  const books = { site, load, receiver, kills: 0, accountId: sender.accountId, url: servers[0]!.url }
  const faults = [...(await checkBooks(books)), ...(await checkNobodyBlamed(site))]
  if (servers.some(server => !server.isRunning())) faults.push('a server died')
  await site.close()
  await receiver.close()
  return faults
}

/** No copy too many is among the books: with no kills they allow none. */
async function checkNobodyBlamed({ databaseUrl }: Site): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const aside = await client.query(`select from events where type = 'anomaly_detected'`)
  await client.end()
  return aside.rows.length > 0 ? [`${aside.rows.length} alerts, such as for mail that was set aside`] : []
}
