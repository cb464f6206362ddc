// A server that is killed in the moment in which it would send: another one over the same database sends, and nothing leaves
// twice. The larger run is `npm run chaos -- scheduling`.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aStage, killAsApprovalsAreGiven, killAsDraftsFallDue, type Stage } from '../chaos/scheduling.ts'
import { ADMIN_TOKEN } from '../chaos/site.ts'
import { aClone, aDataDir } from '../support/box.ts'
import { aServerProcess, type Server } from '../support/server-process.ts'
import { aSink, type TestSink } from '../support/sink.ts'

let sink: TestSink
let database: Awaited<ReturnType<typeof aClone>>
let stage: Stage
let servers: readonly [Server, Server]

before(async () => {
  sink = await aSink()
  database = await aClone()
  const databaseUrl = database.url
  const aServer = async () =>
    aServerProcess({
      PATH: process.env['PATH'],
      DATABASE_URL: databaseUrl,
      DATABASE_POOL: '8',
      DATA_DIR: await aDataDir(),
      SECRET_KEY: 'kills-secret-key-0123456789-0123456789',
      ADMIN_TOKEN,
      SMTP_PORT: '0',
      MX_PORT: '0',
      SMTP_ROUTES: `*=127.0.0.1:${sink.port}`,
      LOG_LEVEL: 'error',
    })
  servers = [await aServer(), await aServer()]
  await Promise.all(servers.map(server => server.start()))
  stage = await aStage({ servers, databaseUrl, sink, isQuick: true })
})

after(async () => {
  await stage?.close()
  for (const server of servers) await server.stop()
  await database.drop()
  await sink.close()
})

test('a server killed while approvals are given: each mail leaves once, and none is left behind', async () => {
  assert.deepEqual(
    await killAsApprovalsAreGiven(stage, { approvals: 24, victim: 0, killAfterMs: 0, isBlocked: false }),
    [],
  )
  await servers[0].start()
})

test('a server killed in the second in which drafts fall due: each leaves once, none early, none that was cancelled', async () => {
  const plan = { drafts: 40, victim: 1, killAfterMs: 0, isBlocked: false }
  assert.deepEqual(await killAsDraftsFallDue(stage, plan), [])
})
