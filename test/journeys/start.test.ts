// Starting and stopping the real process, as `npm start` does.
import assert from 'node:assert/strict'
import { freePort } from '../support/programs/ports.ts'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { readMigrations } from '../../src/platform/db/migrate.ts'
import { aDatabaseProxy } from '../support/database-proxy.ts'
import { aBox, aClone, aDataDir } from '../support/box.ts'
import { eventually } from '../support/factories.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const undo: (() => Promise<unknown>)[] = []
after(async () => {
  for (const each of undo.toReversed()) await each()
})

/** Of the environment: nothing that would configure it. */
const KEPT = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }

interface Running {
  child: ChildProcess
  url: string
  output: () => string
  exit: Promise<[number | null]>
}

async function start(environment: Record<string, string>, command = 'serve'): Promise<Running> {
  const port = await freePort()
  let output = ''
  const child = spawn(process.execPath, [MAIN, command], {
    env: { ...KEPT, PORT: String(port), SMTP_PORT: '0', MX_PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += String(chunk)))
  undo.push(async () => child.kill('SIGKILL'))
  // Behind all that it said.
  const exit = once(child, 'close') as Promise<[number | null]>
  return { child, url: `http://127.0.0.1:${port}`, output: () => output, exit }
}

async function ready(running: Running): Promise<void> {
  const isReady = () =>
    fetch(`${running.url}/readyz`).then(
      reply => reply.status === 200,
      () => false,
    )
  await eventually('ready', isReady, 60_000).catch((cause: unknown) => {
    throw new Error(`it said: ${running.output()}`, { cause })
  })
}

test('a first start welcomes with a working key, a second start keeps everything, SIGTERM ends cleanly', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice start '))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const DATA_DIR = join(folder, 'da ta')
  const first = await start({ DATA_DIR })
  await ready(first)
  await eventually('the welcome', async () => first.output().includes('Sluice is ready.'))
  const bearer = /svc_[a-z2-7]{12}_[A-Za-z0-9-]{43}/.exec(first.output())?.[0]
  assert.ok(bearer, first.output())
  assert.match(first.output(), /curl http/)
  const token = (await readFile(join(DATA_DIR, 'operator-token'), 'utf8')).trim()
  assert.equal((await stat(join(DATA_DIR, 'operator-token'))).mode & 0o777, 0o600)
  assert.ok(!first.output().includes(token), 'the operator token is not printed')
  const tenants = async (url: string) =>
    (
      (await (await fetch(`${url}/v1/tenants`, { headers: { authorization: `Bearer ${bearer}` } })).json()) as {
        tenants: unknown[]
      }
    ).tenants
  assert.equal((await tenants(first.url)).length, 1)
  assert.match(first.output(), /Inbox +hello@acme\.sluice\.test/)
  const inboxUrl = /http\S+\/v1\/inboxes\/[0-9a-f-]{36}\/messages/.exec(first.output())![0]
  const read = await fetch(inboxUrl, { headers: { authorization: `Bearer ${bearer}` } })
  const hidden = { spam: 0, trash: 0, blocked: 0 }
  assert.deepEqual(await read.json(), { messages: [], next_cursor: null, hidden })

  first.child.kill('SIGTERM')
  assert.equal((await first.exit)[0], 0)
  await assert.rejects(stat(join(DATA_DIR, 'postgres/cluster/postmaster.pid')), 'PostgreSQL is stopped')

  const second = await start({ DATA_DIR })
  await ready(second)
  assert.equal((await tenants(second.url)).length, 1)
  assert.ok(!second.output().includes('svc_'), 'the key is shown once')

  second.child.kill('SIGKILL')
  await second.exit
  const third = await start({ DATA_DIR })
  await ready(third)
  assert.equal((await tenants(third.url)).length, 1)
  third.child.kill('SIGINT')
  assert.equal((await third.exit)[0], 0)
})

test('servers started at once on an empty database all come up, and each migration is applied once', async () => {
  const database = await aClone('template0')
  undo.push(database.drop)
  const common = {
    DATABASE_URL: database.url,
    SECRET_KEY: 'shared-secret-key-0123456789-0123456789',
    DATABASE_POOL: '5',
  }
  const servers = await Promise.all([1, 2].map(async () => start({ ...common, DATA_DIR: await aDataDir() })))

  await Promise.all(servers.map(ready))

  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  await client.end()
  assert.ok(rows.length > 0)
  for (const server of servers) server.child.kill('SIGTERM')
  await Promise.all(servers.map(server => server.exit))
  // What is logged may come behind what is answered.
  const appliersOf = (name: string) => servers.filter(server => server.output().includes(`"${name}"`))
  const appliers = rows.map(({ name }) => appliersOf(name).length)
  assert.deepEqual(new Set(appliers), new Set([1]))
})

test('a process with another SECRET_KEY than the database was set up with does not start', async t => {
  const { databaseUrl, close } = await aBox({ until: t })
  await close()
  const SECRET_KEY = 'the-wrong-secret-key-0123456789-0123456789'

  for (const command of ['serve', 'verify-audit']) {
    const wrong = await start({ DATABASE_URL: databaseUrl, SECRET_KEY, DATA_DIR: await aDataDir() }, command)

    assert.equal((await wrong.exit)[0], 1)
    assert.match(wrong.output(), /^sluice: SECRET_KEY is not the one that this database was set up with$/m)
  }
})

async function aProxiedDatabase(template?: string) {
  const database = await aClone(template)
  const proxy = await aDatabaseProxy(database.url)
  undo.push(database.drop, async () => proxy.cut())
  return proxy
}

const linesOf = (running: Running, text: string): number => running.output().split(text).length - 1

test('a server that starts while the database is away says so once, waits, and is ready when it is back', async () => {
  const proxy = await aProxiedDatabase()
  proxy.cut()
  const running = await start({ DATABASE_URL: proxy.url, DATA_DIR: await aDataDir() })
  await eventually('it waits', async () => linesOf(running, 'waiting for the database') > 0)
  const { refused } = proxy
  await eventually('it tries again', async () => proxy.refused > refused + 2)
  proxy.restore()
  await ready(running)
  assert.equal(linesOf(running, 'waiting for the database'), 1)
  running.child.kill('SIGTERM')
  assert.equal((await running.exit)[0], 0)
})

test('who is asked to end while waiting for the database ends with 0', async () => {
  const proxy = await aProxiedDatabase()
  proxy.cut()
  const ended = (['SIGTERM', 'SIGINT'] as const).map(async signal => {
    const running = await start({ DATABASE_URL: proxy.url, DATA_DIR: await aDataDir() })
    await eventually('it waits', async () => linesOf(running, 'waiting for the database') > 0)
    running.child.kill(signal)
    assert.equal((await running.exit)[0], 0, running.output())
  })
  await Promise.all(ended)
})

test('a database that goes away at any moment of the start does not end it', async () => {
  // While the schema is applied, and in the steps after it.
  const schema = (await readMigrations()).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  const started = [schema / 2, schema + 1_500, schema + 4_000].map(async bytes => {
    const proxy = await aProxiedDatabase('template0')
    let isCut = false
    proxy.onBytes = total => {
      if (total < bytes || isCut) return
      isCut = true
      proxy.cut()
      setTimeout(() => proxy.restore(), 700)
    }
    const running = await start({ DATABASE_URL: proxy.url, DATA_DIR: await aDataDir(), DEMO: '1' })
    await ready(running)
    assert.ok(isCut, `it was cut after ${bytes}`)
    running.child.kill('SIGTERM')
    assert.equal((await running.exit)[0], 0, running.output())
  })
  await Promise.all(started)
})

test('what is wrong with the database for good stops the start with one line', async () => {
  const proxy = await aProxiedDatabase()
  const wrong = {
    [proxy.url.replace(/:[^:@]+@/, ':wrong@')]: /^sluice: connecting to the database: password authentication failed/,
    [proxy.url.replace(/\/\w+\?/, '/elsewhere?')]: /^sluice: connecting to the database: database "elsewhere" does not/,
  }
  const stopped = Object.entries(wrong).map(async ([DATABASE_URL, line]) => {
    const running = await start({ DATABASE_URL, DATA_DIR: await aDataDir() })
    assert.equal((await running.exit)[0], 1)
    assert.match(running.output(), line)
    assert.equal(running.output().trim().split('\n').length, 1)
  })
  await Promise.all(stopped)
})

test('mistakes in the configuration stop the start with a line each', async () => {
  const wrong = await start({ PORT: 'http', ROLES: 'king' })
  assert.equal((await wrong.exit)[0], 1)
  assert.equal(
    wrong.output(),
    'sluice: PORT must be a whole number from 0 to 65535, not "http"\nsluice: ROLES must be one of api, submission, mx, worker, not "king"\n',
  )
})

test('a port that is taken is said in one line, and no account is made whose key nobody sees', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  undo.push(async () => server.close())
  const { port } = server.address() as AddressInfo
  const database = await aClone()
  undo.push(database.drop)
  const environment = { DATABASE_URL: database.url, DATA_DIR: await aDataDir(), DEMO: '1' }
  const taken = await start({ ...environment, PORT: String(port) })
  assert.equal((await taken.exit)[0], 1)
  assert.match(taken.output(), /^sluice: .*address already in use/m)
  const free = await start({ ...environment, PORT: '0' })
  await eventually('it welcomes with a key', async () => /API key +svc_/.test(free.output()))
})

test('verify-audit ends by itself with its verdict, wherever the database goes on running', async () => {
  const database = await aClone()
  undo.push(database.drop)
  const verify = await start({ DATABASE_URL: database.url, DATA_DIR: await aDataDir() }, 'verify-audit')
  assert.equal((await verify.exit)[0], 0)
  assert.match(verify.output(), /"intact":true/)
})

test('help names every command', async () => {
  const help = await start({}, 'help')
  await help.exit
  assert.match(help.output(), /verify-audit/)
  const unknown = await start({}, 'fly')
  assert.equal((await unknown.exit)[0], 2)
})
