/**
 * The embedded PostgreSQL with real servers: creating, starting, sharing, stopping, and what it says when it cannot.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { anInstallation, ask } from './installation.fixture.ts'

const NOBODY = 65534
const onlyRoot = { skip: process.getuid?.() === 0 && process.platform === 'linux' ? false : 'needs root on Linux' }

test('a folder without a database gets one, which the next start finds again', async t => {
  const installation = await anInstallation(t, { handedOn: true })
  const first = await installation.hold()
  await ask(first.url, 'create table kept (value text)')
  await installation.addRow(first.url)
  await first.stop()

  const second = await installation.hold()

  assert.equal(first.origin, 'created')
  assert.equal(second.origin, 'started')
  assert.equal(await installation.countRows(second.url), 1)
  assert.equal(await ask(second.url, 'show data_checksums'), 'on')
  assert.equal(await ask(second.url, 'show server_encoding'), 'UTF8')
  assert.equal(await ask(second.url, 'show listen_addresses'), '')
})

test('a clean stop leaves no process, no lock, no socket folder and no holder file', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const holder = await installation.hold()
  assert.equal(readdirSync(installation.sockets).length, 1)

  await holder.stop()

  assert.deepEqual(installation.processes(), [])
  assert.deepEqual(readdirSync(installation.sockets), [])
  assert.deepEqual(readdirSync(join(installation.folder, 'users')), [])
  assert.equal(existsSync(join(installation.folder, 'cluster', 'postmaster.pid')), false)
})

test('root hands the server to nobody, who owns the cluster', onlyRoot, async t => {
  const installation = await anInstallation(t, { prepared: true })

  await installation.hold()

  assert.equal(statSync(join(installation.folder, 'cluster')).uid, NOBODY)
  assert.equal(statSync(`/proc/${installation.serverPid()}`).uid, NOBODY)
})

test('only the password opens the socket', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const { url } = await installation.hold()

  await assert.rejects(ask(url.replace(/:[^:@]*@/, ':wrong@'), 'select 1'), { code: '28P01' })

  const socketFolder = join(installation.sockets, readdirSync(installation.sockets)[0] ?? '')
  assert.equal(statSync(socketFolder).mode & 0o777, 0o700)
  assert.equal(statSync(join(installation.folder, 'cluster', 'password')).mode & 0o777, 0o600)
})

test('a copy of a folder whose server runs gets a server of its own, and the other one keeps its socket', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const original = await installation.hold()
  const folder = `${installation.folder}-copy`
  execFileSync('cp', ['-a', installation.folder, folder])

  const copied = await installation.hold({ folder })
  await installation.addRow(original.url)

  assert.equal(await installation.countRows(original.url), 1)
  assert.equal(await installation.countRows(copied.url), 0)
  await copied.stop()
  assert.deepEqual(
    installation.servers().map(({ pid }) => pid),
    [installation.serverPid()],
  )
  assert.equal(await installation.countRows(original.url), 1)
})

test('two processes that start at once on an empty folder share one server', async t => {
  const installation = await anInstallation(t)

  const [one, two] = await Promise.all([installation.hold(), installation.hold()])

  assert.equal(one.url, two.url)
  assert.equal(installation.servers().length, 1)
  await ask(one.url, 'create table kept (value text)')
  await installation.addRow(one.url)
  assert.equal(await installation.countRows(two.url), 1)
  assert.deepEqual(
    readdirSync(installation.folder).filter(name => name.startsWith('new-')),
    [],
  )
})

test('two processes that start at once on a stopped database share one server', async t => {
  const installation = await anInstallation(t, { prepared: true })

  const holders = await Promise.all([installation.hold(), installation.hold()])

  assert.deepEqual(holders.map(holder => holder.origin).toSorted(), ['adopted', 'started'])
  assert.equal(installation.servers().length, 1)
  for (const holder of holders) assert.equal(await ask(holder.url, 'select 1'), 1)
})

test('a server is left to the other holder, and ends with the last one', async t => {
  const installation = await anInstallation(t, { prepared: true })
  const first = await installation.hold()
  const second = await installation.hold()
  const server = installation.serverPid()

  await first.stop()
  assert.equal(installation.serverPid(), server)
  assert.equal(await ask(second.url, 'select 1'), 1)

  await second.stop()
  assert.deepEqual(installation.processes(), [])
})

test('a process with nothing else to do ends, and the server with it', async t => {
  const installation = await anInstallation(t, { prepared: true })

  const holder = await installation.hold({ mode: 'leave' })

  assert.equal(await holder.ended, 0)
  await eventually('the server is shut down', () => installation.processes().length === 0)
})

test('blanks, letters of all alphabets and great length in the path are fine', async t => {
  const installation = await anInstallation(t, { name: `Büro Ω "data", ${'long '.repeat(30)}` })

  const holder = await installation.hold()

  assert.ok(installation.folder.length > 150)
  assert.equal(await ask(holder.url, 'select 1'), 1)
})

test('a database of another major version is refused with what to do', async t => {
  const installation = await anInstallation(t)
  mkdirSync(join(installation.folder, 'cluster'), { recursive: true })
  writeFileSync(join(installation.folder, 'cluster', 'PG_VERSION'), '17\n')

  const { message } = await installation.holdInVain()

  assert.match(message, /was made by PostgreSQL 17, this version of Sluice brings PostgreSQL 18/)
  assert.ok(message.includes(installation.folder))
  assert.match(message, /DATABASE_URL/)
})

test('a server that cannot start says why and leaves nothing behind', async t => {
  const installation = await anInstallation(t, { prepared: true })

  const { message } = await installation.holdInVain({ settings: { shared_buffers: 'plenty' } })

  assert.match(message, /invalid value for parameter "shared_buffers": "plenty"/)
  assert.match(message, /DATABASE_URL/)
  assert.deepEqual(installation.processes(), [])
  assert.deepEqual(readdirSync(installation.sockets), [])
  assert.deepEqual(readdirSync(join(installation.folder, 'users')), [])
})

test('a long server log is put aside and remains of killed creators are removed at the start', async t => {
  const installation = await anInstallation(t, { prepared: true })
  writeFileSync(join(installation.folder, 'log'), Buffer.alloc(10 * 1024 * 1024 + 1))
  mkdirSync(join(installation.folder, 'new-4194305-1-abcdef'))

  await installation.hold()

  assert.equal(statSync(join(installation.folder, 'log.old')).size, 10 * 1024 * 1024 + 1)
  assert.ok(statSync(join(installation.folder, 'log')).size < 10_000)
  assert.equal(existsSync(join(installation.folder, 'new-4194305-1-abcdef')), false)
})
