/**
 * An installation for one test of the embedded PostgreSQL: folders of its own for data and sockets, and holders that are
 * processes of their own, so that they can be killed. Afterwards every process that mentions its folder is ended.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { Client } from 'pg'
import { eventually } from '../../../test/support/eventually.ts'
import { readOrEmpty } from './processes.ts'

const FIXTURE = join(import.meta.dirname, 'holder.fixture.ts')
const WAIT_MAX_MS = 20_000
const SHUTDOWN_MAX_MS = 3_000
// Many servers come and go here; small ones are up sooner.
const SETTINGS = { shared_buffers: '16MB', max_connections: '20' }

/** A stopped database handed from test to test within a process: creating one takes a second. */
const shared = mkdtempSync(join(tmpdir(), 'embedded-postgres-'))
const spare = join(shared, 'data')

process.on('exit', () => rmSync(shared, { recursive: true, force: true }))

interface HoldOptions {
  /** Another one than that of the installation. */
  folder?: string
  uid?: number
  settings?: Record<string, string>
  mode?: 'stay' | 'leave'
  fixture?: string
}

/**
 * A folder for a database and one for sockets, with the means to hold the database and to look at what runs there.
 * `prepared`: there is a stopped database already, with a table `kept` in which rows of other tests may be found.
 * `handedOn`: the test makes one for them.
 */
export async function anInstallation(
  t: TestContext,
  options: { prepared?: boolean; handedOn?: boolean; name?: string } = {},
) {
  const root = mkdtempSync(join(tmpdir(), 'embedded-postgres-'))
  const [folder, sockets] = [join(root, options.name ?? 'data'), join(root, 'tmp')]
  const processes = () => processesNaming(root)
  t.after(async () => {
    await endAll(root)
    if (options.prepared || options.handedOn) putAside(folder)
    rmSync(root, { recursive: true, force: true })
  })
  chmodSync(root, 0o755)
  mkdirSync(sockets)
  if (options.prepared) await bringPrepared({ folder, sockets })

  const servers = () => processes().filter(({ command }) => command.includes('/bin/postgres') && command.includes('-D'))
  const watchdogOrNull = (holder: number) =>
    processes().find(({ command }) => command.includes('watchdog.sh') && command.includes(`/users/${holder}-`))?.pid ??
    null
  const serverPidOrNull = () => Number(readOrEmpty(join(folder, 'cluster', 'postmaster.pid')).split('\n')[0]) || null

  return {
    root,
    folder,
    sockets,
    processes,
    servers,
    serverPidOrNull,
    serverPid: () => required(serverPidOrNull(), 'a server has the lock'),
    watchdogOrNull,
    /** A lock as a server with this id would leave it when killed. */
    leaveLock(pid: number) {
      const lines = [pid, join(folder, 'cluster'), 1, 5432, join(sockets, 'sluice-gone'), '', '0 0', 'ready   ', '']
      writeFileSync(join(folder, 'cluster', 'postmaster.pid'), lines.join('\n'))
    },
    /** A row that is this test's own, and how many of them there are. */
    addRow: (url: string) => ask(url, `insert into kept values ('${root}')`),
    countRows: (url: string) => ask(url, `select count(*)::int from kept where value = '${root}'`),
    watchdogOf: (holder: number) => required(watchdogOrNull(holder), 'the holder has a watchdog'),

    async hold(options: HoldOptions = {}) {
      const holder = startHolder({ folder: options.folder ?? folder, sockets }, options)
      const line = await holder.next()
      if (line['kind'] !== 'up') assert.fail(`the holder did not come up: ${JSON.stringify(line)}`)
      const { url, superuserUrl, origin } = line as { url: string; superuserUrl: string; origin: string }
      return { ...holder, url, superuserUrl, origin }
    },

    async holdInVain(options: HoldOptions = {}) {
      const holder = startHolder({ folder, sockets }, options)
      const line = await holder.next()
      assert.equal(line['kind'], 'failed')
      await holder.ended
      return line as { message: string }
    },
  }
}

function startHolder(installation: { folder: string; sockets: string }, options: HoldOptions) {
  const { uid, settings = {}, mode = 'stay', fixture = FIXTURE } = options
  const child = spawn(
    process.execPath,
    [fixture, installation.folder, JSON.stringify({ ...SETTINGS, ...settings }), mode],
    {
      // The cache spares each holder the stripping of types.
      env: { PATH: process.env['PATH'], TMPDIR: installation.sockets, NODE_COMPILE_CACHE: join(shared, 'cache') },
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: '/',
      // A process group of its own, for Ctrl-C.
      detached: true,
      // No holder outlives its test for long, however that fails.
      timeout: 2 * WAIT_MAX_MS,
      killSignal: 'SIGKILL',
      ...(uid !== undefined && { uid, gid: uid }),
    },
  )
  child.stdin.on('error', () => {})
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()

  async function next(): Promise<Record<string, unknown>> {
    const line = await lines.next()
    return line.done ? { kind: 'ended' } : (JSON.parse(line.value) as Record<string, unknown>)
  }
  async function says(kind: string): Promise<void> {
    assert.equal((await next())['kind'], kind)
  }

  return {
    pid: required(child.pid ?? null, 'the holder runs'),
    ended,
    next,
    says,
    async stop() {
      child.stdin.write('stop\n')
      await says('stopped')
      await ended
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function bringPrepared(installation: { folder: string; sockets: string }): Promise<void> {
  if (existsSync(spare)) return renameSync(spare, installation.folder)
  const holder = startHolder(installation, {})
  const { url } = (await holder.next()) as { url: string }
  await ask(url, 'create table kept (value text)')
  await holder.stop()
}

function putAside(folder: string): void {
  if (existsSync(spare) || existsSync(join(folder, 'cluster', 'postmaster.pid'))) return
  renameSync(folder, spare)
}

/**
 * Ends every process that mentions the folder: holders at once, so that their servers shut down, and in the end all of
 * them.
 */
async function endAll(root: string): Promise<void> {
  for (const { pid, command } of processesNaming(root)) if (command.includes('holder.fixture.ts')) tryKill(pid)
  const patienceEnds = performance.now() + SHUTDOWN_MAX_MS
  await eventually('every process of the test is gone', () => {
    const found = processesNaming(root)
    if (performance.now() > patienceEnds) for (const { pid } of found) tryKill(pid)
    return found.length === 0
  })
}

export function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Ended by itself meanwhile.
  }
}

/** Zombies do not count. */
export const isRunning = (pid: number) => listProcesses().some(found => found.pid === pid && found.command !== '')

function processesNaming(path: string): { pid: number; command: string }[] {
  return listProcesses().filter(({ pid, command }) => command.includes(path) && pid !== process.pid)
}

/** Zombies have no command line and so are not among them. */
function listProcesses(): { pid: number; command: string }[] {
  if (existsSync('/proc/self')) {
    const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
    return pids.map(pid => ({ pid, command: readOrEmpty(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') }))
  }
  const lines = execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map(line => ({ pid: Number.parseInt(line.trim()), command: line }))
}

/** The first column of the first row. */
export async function ask(url: string, statement: string): Promise<unknown> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return Object.values(rows[0] ?? {})[0]
  } finally {
    await client.end().catch(() => {})
  }
}

function required<Value>(value: Value | null, what: string): Value {
  assert.ok(value !== null, what)
  return value
}
