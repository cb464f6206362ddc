// Batched appends to the journal with a tail keeping up.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../src/app.ts'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/platform/config.ts'
import { system } from '../src/platform/db/actor.ts'
import { sql } from '../src/platform/db/sql.ts'
import { migrate, readMigrations } from '../src/platform/db/migrate.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.ts'
import { newId } from '../src/platform/ids.ts'
import { createLog } from '../src/platform/log.ts'
import { advanceTail, readTailOnce } from '../src/platform/work/tail.ts'
import type { Tail } from '../src/platform/work/worker.ts'
import { Secrets } from '../src/platform/secrets.ts'
import { count, heading, median, report } from './support/report.ts'

const WRITERS = 8
const BATCH = 200
const SECONDS = 8

export async function benchJournal(): Promise<void> {
  heading(`Journal: ${WRITERS} writers, ${BATCH} events per transaction, durable, with one tail`)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const postgres = await startEmbeddedPostgres({ folder: join(folder, 'postgres'), log: () => {} })
  await migrate(postgres.url, await readMigrations())
  const read = readConfig({ DATA_DIR: folder })
  if ('mistakes' in read) throw new Error(read.mistakes.join())
  const app = await buildApp({
    config: read.config,
    clock: systemClock(),
    log: createLog('silent'),
    databaseUrl: postgres.url,
    adminToken: 'bench',
    secrets: new Secrets('bench'),
  })
  const { world } = app
  const lags: number[] = []
  const tail: Tail = {
    kind: 'tail',
    name: 'bench',
    batchMax: 5_000,
    read: async (_world, tx, { after, upTo }) => {
      const events = await tx.many<{ created_at: Date }>(sql`
        select id, type, account_id, tenant_id, message_id, recipient, created_at, data
        from events where id > ${after} and id <= ${upTo} order by id`)
      lags.push(Date.now() - events[0]!.created_at.getTime())
    },
  }
  await readTailOnce(world, tail)
  let written = 0
  let isOver = false
  const began = performance.now()
  const writers = Array.from({ length: WRITERS }, async () => {
    while (!isOver) {
      await world.db.transact(system('bench'), async tx => {
        for (let n = 0; n < BATCH; n++) {
          tx.record({
            type: 'delivered',
            accountId: ACCOUNT,
            tenantId: TENANT,
            messageId: newId(tx.now),
            recipient: `user${n}@example.com`,
            data: DATA,
          })
        }
      })
      written += BATCH
    }
  })
  let tailed = 0
  const reader = (async () => {
    while (!isOver || tailed < written) tailed += await advanceTail(world, tail)
  })()
  await new Promise(resolve => setTimeout(resolve, SECONDS * 1000))
  isOver = true
  await Promise.all(writers)
  const seconds = (performance.now() - began) / 1000
  const behind = written - tailed
  await reader
  const caughtUp = (performance.now() - began) / 1000 - seconds
  await app.stop()
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
  const rate = written / seconds
  report({ name: 'events/s appended', value: count(rate), target: '>= 15,000', isMet: rate >= 15_000 })
  report({ name: 'lag of the tail, median and worst', value: `${median(lags)} / ${Math.max(...lags)} ms` })
  report({
    name: 'behind when the writers stopped, and time to catch up',
    value: `${count(behind)} / ${caughtUp.toFixed(2)} s`,
    target: '<= 1 s',
    isMet: caughtUp <= 1,
  })
}

const ACCOUNT = randomUUID()
const TENANT = randomUUID()
const DATA = {
  smtp_code: 250,
  enhanced_code: '2.0.0',
  response: '2.0.0 Ok: queued as 4XyZ',
  mx_host: 'mx.example.com',
  attempt: 1,
}
