/**
 * Brings the server up, or adopts the one that is there. One loop looks at the cluster's lock again and again and
 * does the next sensible thing; PostgreSQL's own lock decides who wins when several try at once.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, statfsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandFor } from './account.ts'
import { OWN_DATABASE_HINT } from './binaries.ts'
import { readPassword } from './cluster.ts'
import { callServer } from './connection.ts'
import { restoreSocketFolder } from './holders.ts'
import { lookForServer, removeLock, type Sighting } from './lock-file.ts'
import { identify, isAlive, type ProcessIdentity, signalProcess } from './processes.ts'
import { serverArguments } from './settings.ts'
import { openServerLog, serverLogTail } from './server-log.ts'
import type { Site } from './site.ts'

export interface Server {
  readonly identity: ProcessIdentity
  readonly socketFolder: string
  readonly isAdopted: boolean
  /** Resolves when the process is gone; rejects when the signal fires first. */
  gone(signal: AbortSignal): Promise<void>
}

export interface BringUpOptions {
  /** Where to put the socket if it comes to starting a server. */
  readonly socketFolder: string
  readonly signal?: AbortSignal
  /** Called as soon as a server is in sight, long before it is ready, so that it can be shut down if we fail or die. */
  readonly onSight: (server: ProcessIdentity, socketFolder: string) => void
}

const START_TIMEOUT_MS = 60_000
// After a crash the server first replays its log, up to max_wal_size. Giving up would only make the next start do it
// again.
const RECOVERY_TIMEOUT_MS = 15 * 60_000
const LOOK_EVERY_MS = 20
const RETRY_AFTER_MS = 100
const ADOPTED_POLL_MS = 500
// Another server has the lock, or its processes linger; two judged the same remains at once; or a watchdog, seeing
// the last server end, removed the socket folder just when ours was about to use it.
const RETRY_AFTER = new RegExp(
  [
    'lock file ".*" (already exists|is empty)',
    'could not remove old lock file',
    'pre-existing shared memory block',
    'could not create lock file ".*/\\.s\\.PGSQL.*No such file',
  ].join('|'),
)
// One segment of the write-ahead log.
const DISK_BYTES_MIN = 16 * 1024 * 1024
// An empty lock file is filled within microseconds, and a server that is ready has its socket.
const LOCK_PATIENCE_MS = 1_000
const SOCKET_PATIENCE_MS = 1_000
const REPORT_EVERY_MS = 10_000

export async function bringUp(site: Site, options: BringUpOptions): Promise<Server> {
  const began = performance.now()
  const password = readPassword(site)
  const patience = {
    empty: newPatience(LOCK_PATIENCE_MS),
    unreachable: newPatience(SOCKET_PATIENCE_MS),
    starting: newPatience(REPORT_EVERY_MS),
  }
  let attempt: Attempt | null = null

  for (;;) {
    options.signal?.throwIfAborted()
    const sighting = lookForServer(site.cluster)
    const isStarting = sighting.kind === 'running' && sighting.status === 'starting'
    if (patience.starting.isOver(isStarting)) site.log('info', 'the database server is still starting or recovering')
    if (patience.empty.isOver(sighting.kind === 'empty')) removeLock(site.cluster, null)
    if (sighting.kind === 'running') {
      const socketFolder = sighting.socketFolder ?? options.socketFolder
      options.onSight(sighting.server, socketFolder)
      const answer = sighting.status === 'ready' ? await callServer({ socketFolder, password }) : 'busy'
      if (answer === 'ready') return serverOf(sighting.server, { socketFolder, attempt })
      if (patience.unreachable.isOver(answer === 'unreachable')) restartUnreachable(site, sighting.server)
    } else if (sighting.kind !== 'empty' && attempt === null) {
      attempt = await launch(site, options, sighting)
    }

    if (attempt?.isOver()) {
      if (!attempt.mayRetry()) throw failure(site, 'did not start', attempt)
      attempt = null
      await sleep(RETRY_AFTER_MS, undefined, { signal: options.signal })
    }
    if (performance.now() - began > (isStarting ? RECOVERY_TIMEOUT_MS : START_TIMEOUT_MS)) {
      throw failure(site, 'did not become ready in time', attempt)
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: options.signal })
  }
}

/** One server process of ours, on its way to winning the lock or to ending. */
interface Attempt {
  readonly identity: ProcessIdentity
  readonly exited: Promise<void>
  isOver(): boolean
  /** True when it ended through others: another server had the lock, was not quite gone yet, or someone killed ours. */
  mayRetry(): boolean
  output(): string
}

async function launch(site: Site, options: BringUpOptions, sighting: Sighting): Promise<Attempt> {
  if (sighting.kind === 'remains' && sighting.blocks) removeLock(site.cluster, sighting.socketFolder)
  restoreSocketFolder(options.socketFolder, site.account)
  const { child, logOffset } = spawnServer(site, options.socketFolder)
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const failed = new Promise<Error>(resolve => child.once('error', resolve))
  if (child.pid === undefined) throw new Error(`Cannot run PostgreSQL. ${OWN_DATABASE_HINT}`, { cause: await failed })

  // Ended already when null; then it does not matter how we call it.
  const identity = identify(child.pid) ?? { pid: child.pid, started: 'never' }
  options.onSight(identity, options.socketFolder)
  const output = () => serverLogTail(site.logFile, logOffset)
  return {
    identity,
    exited,
    output,
    isOver: () => child.exitCode !== null || child.signalCode !== null,
    mayRetry: () => child.signalCode === 'SIGKILL' || child.exitCode === 0 || RETRY_AFTER.test(output()),
  }
}

function spawnServer(site: Site, socketFolder: string): { child: ChildProcess; logOffset: number } {
  const serverArgs = serverArguments({ cluster: site.cluster, socketFolder, settings: site.settings })
  const { file, args, ...user } = commandFor(site.account, site.binaries.postgres, serverArgs)
  const log = openServerLog(site.logFile)
  try {
    const child = spawn(file, args, {
      ...user,
      cwd: '/',
      env: site.binaries.environment,
      // A session of its own, so that Ctrl-C does not reach the server before we have finished our work on it.
      detached: true,
      stdio: ['ignore', log.descriptor, log.descriptor],
    })
    child.unref()
    return { child, logOffset: log.offset }
  } finally {
    closeSync(log.descriptor)
  }
}

function serverOf(identity: ProcessIdentity, from: { socketFolder: string; attempt: Attempt | null }): Server {
  const { socketFolder, attempt } = from
  const own = attempt?.identity.pid === identity.pid ? attempt : null
  return {
    identity,
    socketFolder,
    isAdopted: own === null,
    gone: signal => (own ? abortable(own.exited, signal) : pollUntilGone(identity, signal)),
  }
}

/** For a server that runs but whose socket has been taken away: nobody can use it until it is started again. */
export function restartUnreachable(site: Site, server: ProcessIdentity): void {
  site.log('warn', 'the database socket is missing, restarting the database', { pid: server.pid })
  signalProcess(server, 'SIGINT')
}

function failure(site: Site, what: string, attempt: Attempt | null): Error {
  const output = attempt?.output().trim()
  const disk = statfsSync(site.folder)
  // A server on a full disk cannot even log that.
  const full = disk.bavail * disk.bsize < DISK_BYTES_MIN ? ' The disk is full.' : ''
  const said = full + (output ? ` It said:\n${output}\n` : ' ')
  return new Error(`The embedded PostgreSQL in ${site.folder} ${what}.${said}${OWN_DATABASE_HINT}`)
}

async function pollUntilGone(identity: ProcessIdentity, signal: AbortSignal): Promise<void> {
  while (isAlive(identity)) await sleep(ADOPTED_POLL_MS, undefined, { ref: false, signal })
}

async function abortable(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    void promise.then(resolve)
  })
}

/** Tells, again and again, when something has been so without a break for that long. */
function newPatience(limitMs: number): { isOver(isSo: boolean): boolean } {
  let since: number | null = null
  return {
    isOver(isSo) {
      since = isSo ? (since ?? performance.now()) : null
      if (since === null || performance.now() - since < limitMs) return false
      since = null
      return true
    },
  }
}
