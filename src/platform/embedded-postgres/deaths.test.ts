/**
 * The embedded PostgreSQL when holders, watchdogs and servers are killed, in every combination that leaves something
 * behind.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { Pool } from 'pg'
import { eventually } from '../../../test/support/eventually.ts'
import { anInstallation, ask, isRunning, tryKill } from './installation.fixture.ts'
import { readOrEmpty } from './processes.ts'

const onlyLinux = { skip: process.platform === 'linux' ? false : 'needs /proc' }

test('a killed holder takes its server along, and the rows are there when it starts again', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()
  await installation.addRow(holder.url)

  await holder.kill()
  await eventually('the watchdog has shut the server down', () => installation.processes().length === 0)
  assert.deepEqual(readdirSync(installation.sockets), [])

  const next = await installation.hold()
  assert.equal(next.origin, 'started')
  assert.equal(await installation.countRows(next.url), 1)
})

test('a start in the moment after a kill waits for the old server and finds the rows', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()
  await installation.addRow(holder.url)

  await holder.kill()
  const next = await installation.hold()

  assert.equal(await installation.countRows(next.url), 1)
  await next.stop()
  assert.deepEqual(installation.processes(), [])
})

test('rows survive the death of holder, watchdog and server at once', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()
  await installation.addRow(holder.url)

  for (const pid of [installation.watchdogOf(holder.pid), installation.serverPid(), holder.pid])
    process.kill(pid, 'SIGKILL')
  await holder.ended

  const next = await installation.hold()
  assert.equal(next.origin, 'started')
  assert.equal(await installation.countRows(next.url), 1)
  assert.equal(readdirSync(installation.sockets).length, 1, 'the dead server left no socket folder')
})

test('a start waits until every process of the killed server has gone', onlyLinux, async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()
  const child = aChildOf(installation.serverPid())
  t.after(() => tryKill(child))
  process.kill(child, 'SIGSTOP')
  for (const pid of [installation.watchdogOf(holder.pid), installation.serverPid(), holder.pid])
    process.kill(pid, 'SIGKILL')
  await holder.ended

  const start = installation.hold()
  const refusal = 'pre-existing shared memory block'
  await eventually('PostgreSQL has refused to start', () =>
    readOrEmpty(join(installation.folder, 'log')).includes(refusal),
  )
  process.kill(child, 'SIGKILL')

  assert.equal((await start).origin, 'started')
})

test('what a killed server leaves among the sockets is removed by the next start', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()

  for (const pid of [installation.serverPid(), holder.pid]) process.kill(pid, 'SIGKILL')
  await eventually('the watchdog is done', () => installation.processes().length === 0)
  assert.equal(readdirSync(installation.sockets).length, 1)

  await installation.hold()
  assert.equal(readdirSync(installation.sockets).length, 1)
})

test('a server that lost its holder and its watchdog is adopted, and stopped by its new holder', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()
  const orphan = installation.serverPid()
  process.kill(installation.watchdogOf(holder.pid), 'SIGKILL')
  await holder.kill()

  const next = await installation.hold()

  assert.equal(next.origin, 'adopted')
  assert.equal(next.url, holder.url)
  assert.equal(installation.serverPid(), orphan)
  await next.stop()
  assert.deepEqual(installation.processes(), [])
})

test('a server killed under its holder comes back, and the pool with it', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()
  const pool = aPool(t, holder.url)
  await installation.addRow(holder.url)
  assert.ok(await answers(pool))
  const killed = installation.serverPid()

  process.kill(killed, 'SIGKILL')

  await eventually('another server has the lock', () => ![null, killed].includes(installation.serverPidOrNull()))
  await eventually('the pool works again', () => answers(pool))
  assert.equal(await installation.countRows(holder.url), 1)
  await holder.stop()
  assert.deepEqual(installation.processes(), [])
})

test('an adopted server killed under its holder comes back too', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const first = await installation.hold()
  process.kill(installation.watchdogOf(first.pid), 'SIGKILL')
  await first.kill()
  const holder = await installation.hold()
  assert.equal(holder.origin, 'adopted')
  const pool = aPool(t, holder.url)
  assert.ok(await answers(pool))
  const killed = installation.serverPid()

  process.kill(killed, 'SIGKILL')

  await eventually('another server has the lock', () => ![null, killed].includes(installation.serverPidOrNull()))
  await eventually('the pool works again', () => answers(pool))
})

test('a server lives on when one of two holders is killed', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const first = await installation.hold()
  const second = await installation.hold()
  const watchdog = installation.watchdogOf(first.pid)

  await first.kill()
  await eventually('the watchdog of the killed holder is done', () => !isRunning(watchdog))

  assert.equal(await ask(second.url, 'select 1'), 1)
})

test('a lock that names a stranger or a zombie does not keep the server from starting', onlyLinux, async t => {
  const installation = await anInstallation(t, { prepared: true })
  // The server's own user, as PostgreSQL itself ignores processes of others.
  const { stranger, zombie } = await aStrangerWithZombie(t, statSync(join(installation.folder, 'cluster')).uid)

  for (const pid of [stranger, zombie]) {
    installation.leaveLock(pid)
    const holder = await installation.hold()
    assert.equal(holder.origin, 'started')
    assert.notEqual(installation.serverPid(), pid)
    await holder.stop()
  }
})

test('an empty lock, left by a server that died while writing it, does not keep the server from starting', async t => {
  const installation = await anInstallation(t, { prepared: true })
  writeFileSync(join(installation.folder, 'cluster', 'postmaster.pid'), '')

  const holder = await installation.hold()

  assert.equal(await ask(holder.url, 'select 1'), 1)
})

test('an orphaned server whose socket was cleaned away is not adopted but started again', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const first = await installation.hold()
  const orphan = installation.serverPid()
  process.kill(installation.watchdogOf(first.pid), 'SIGKILL')
  await first.kill()
  for (const name of readdirSync(installation.sockets)) rmSync(join(installation.sockets, name), { recursive: true })

  const second = await installation.hold()

  assert.equal(second.origin, 'started')
  assert.notEqual(installation.serverPid(), orphan)
  assert.equal(await ask(second.url, 'select 1'), 1)
})

test('the watchdog is replaced when it is killed', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()
  const killed = installation.watchdogOf(holder.pid)
  process.kill(killed, 'SIGKILL')
  await eventually('there is another watchdog', () => ![null, killed].includes(installation.watchdogOrNull(holder.pid)))

  await holder.kill()

  await eventually('the server is shut down', () => installation.processes().length === 0)
})

test('Ctrl-C reaches the holder but neither the watchdog nor the server', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()
  const [server, watchdog] = [installation.serverPid(), installation.watchdogOf(holder.pid)]

  process.kill(-holder.pid, 'SIGINT')
  await holder.says('interrupted')

  assert.equal(await ask(holder.url, 'select 1'), 1)
  assert.equal(installation.serverPid(), server)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.kill(watchdog, signal)
  await holder.kill()
  await eventually('the watchdog has shut the server down', () => installation.processes().length === 0)
})

function aChildOf(parent: number): number {
  const child = readdirSync('/proc').find(
    name => readOrEmpty(`/proc/${name}/stat`).split(') ')[1]?.split(' ')[1] === `${parent}`,
  )
  return Number(child)
}

/** A process of that user, and a child of it that it will never collect, being a sleep. */
async function aStrangerWithZombie(t: TestContext, uid: number): Promise<{ stranger: number; zombie: number }> {
  const script = 'sleep 0.1 & echo $! $$; exec sleep 60'
  const parent = spawn('sh', ['-c', script], { uid, cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => parent.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
  const [zombie = 0, stranger = 0] = line.split(' ').map(Number)
  await eventually('the child is a zombie', () => / Z /.test(readOrEmpty(`/proc/${zombie}/stat`)))
  return { stranger, zombie }
}

function aPool(t: TestContext, url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 2, connectionTimeoutMillis: 2_000 })
  pool.on('error', () => {})
  t.after(() => pool.end())
  return pool
}

const answers = (pool: Pool) =>
  pool.query('select 1').then(
    () => true,
    () => false,
  )
