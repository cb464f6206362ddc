/**
 * The embedded PostgreSQL with real servers: creating, starting, sharing, stopping, and what it says when it cannot.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { aPlace, ask, eventually } from './place.fixture.ts'

const NOBODY = 65534
const onlyRoot = { skip: process.getuid?.() === 0 && process.platform === 'linux' ? false : 'needs root on Linux' }

test('a folder without a database gets one, which the next start finds again', async t => {
  const place = await aPlace(t, { handedOn: true })
  const first = await place.hold()
  await ask(first.url, 'create table kept (value text)')
  await place.addRow(first.url)
  await first.stop()

  const second = await place.hold()

  assert.equal(first.origin, 'created')
  assert.equal(second.origin, 'started')
  assert.equal(await place.countRows(second.url), 1)
  assert.equal(await ask(second.url, 'show data_checksums'), 'on')
  assert.equal(await ask(second.url, 'show server_encoding'), 'UTF8')
  assert.equal(await ask(second.url, 'show listen_addresses'), '')
})

test('a clean stop leaves no process, no lock, no socket folder and no holder file', async t => {
  const place = await aPlace(t, { prepared: true })
  const holder = await place.hold()
  assert.equal(readdirSync(place.sockets).length, 1)

  await holder.stop()

  assert.deepEqual(place.processes(), [])
  assert.deepEqual(readdirSync(place.sockets), [])
  assert.deepEqual(readdirSync(join(place.folder, 'users')), [])
  assert.equal(existsSync(join(place.folder, 'cluster', 'postmaster.pid')), false)
})

test('root hands the server to nobody, who owns the cluster', onlyRoot, async t => {
  const place = await aPlace(t, { prepared: true })

  await place.hold()

  assert.equal(statSync(join(place.folder, 'cluster')).uid, NOBODY)
  assert.equal(statSync(`/proc/${place.serverPid()}`).uid, NOBODY)
})

test('only the password opens the socket', async t => {
  const place = await aPlace(t, { prepared: true })
  const { url } = await place.hold()

  await assert.rejects(ask(url.replace(/:[^:@]*@/, ':wrong@'), 'select 1'), { code: '28P01' })

  const socketFolder = join(place.sockets, readdirSync(place.sockets)[0] ?? '')
  assert.equal(statSync(socketFolder).mode & 0o777, 0o700)
  assert.equal(statSync(join(place.folder, 'cluster', 'password')).mode & 0o777, 0o600)
})

test('two processes that start at once on an empty folder share one server', async t => {
  const place = await aPlace(t)

  const [one, two] = await Promise.all([place.hold(), place.hold()])

  assert.equal(one.url, two.url)
  assert.equal(place.servers().length, 1)
  await ask(one.url, 'create table kept (value text)')
  await place.addRow(one.url)
  assert.equal(await place.countRows(two.url), 1)
  assert.deepEqual(
    readdirSync(place.folder).filter(name => name.startsWith('new-')),
    [],
  )
})

test('two processes that start at once on a stopped database share one server', async t => {
  const place = await aPlace(t, { prepared: true })

  const holders = await Promise.all([place.hold(), place.hold()])

  assert.deepEqual(holders.map(holder => holder.origin).toSorted(), ['adopted', 'started'])
  assert.equal(place.servers().length, 1)
  for (const holder of holders) assert.equal(await ask(holder.url, 'select 1'), 1)
})

test('a server is left to the other holder, and ends with the last one', async t => {
  const place = await aPlace(t, { prepared: true })
  const first = await place.hold()
  const second = await place.hold()
  const server = place.serverPid()

  await first.stop()
  assert.equal(place.serverPid(), server)
  assert.equal(await ask(second.url, 'select 1'), 1)

  await second.stop()
  assert.deepEqual(place.processes(), [])
})

test('a process with nothing else to do ends, and the server with it', async t => {
  const place = await aPlace(t, { prepared: true })

  const holder = await place.hold({ mode: 'leave' })

  assert.equal(await holder.ended, 0)
  await eventually(() => place.processes().length === 0, 'the server is shut down')
})

test('blanks, letters of all alphabets and great length in the path are fine', async t => {
  const place = await aPlace(t, { name: `Büro Ω "data", ${'long '.repeat(30)}` })

  const holder = await place.hold()

  assert.ok(place.folder.length > 150)
  assert.equal(await ask(holder.url, 'select 1'), 1)
})

test('a database of another major version is refused with what to do', async t => {
  const place = await aPlace(t)
  mkdirSync(join(place.folder, 'cluster'), { recursive: true })
  writeFileSync(join(place.folder, 'cluster', 'PG_VERSION'), '17\n')

  const { message } = await place.holdInVain()

  assert.match(message, /was made by PostgreSQL 17, this version of Sluice brings PostgreSQL 18/)
  assert.ok(message.includes(place.folder))
  assert.match(message, /DATABASE_URL/)
})

test('a server that cannot start says why and leaves nothing behind', async t => {
  const place = await aPlace(t, { prepared: true })

  const { message } = await place.holdInVain({ settings: { shared_buffers: 'plenty' } })

  assert.match(message, /invalid value for parameter "shared_buffers": "plenty"/)
  assert.match(message, /DATABASE_URL/)
  assert.deepEqual(place.processes(), [])
  assert.deepEqual(readdirSync(place.sockets), [])
  assert.deepEqual(readdirSync(join(place.folder, 'users')), [])
})

test('a long server log is put aside and remains of killed creators are removed at the start', async t => {
  const place = await aPlace(t, { prepared: true })
  writeFileSync(join(place.folder, 'log'), Buffer.alloc(10 * 1024 * 1024 + 1))
  mkdirSync(join(place.folder, 'new-4194305-1-abcdef'))

  await place.hold()

  assert.equal(statSync(join(place.folder, 'log.old')).size, 10 * 1024 * 1024 + 1)
  assert.ok(statSync(join(place.folder, 'log')).size < 10_000)
  assert.equal(existsSync(join(place.folder, 'new-4194305-1-abcdef')), false)
})
