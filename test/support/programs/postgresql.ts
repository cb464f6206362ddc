// Debian's PostgreSQL in a folder of its own, and PgBouncer before it. Neither is the machine's service.
import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, spawnProgram, stopChild, waitForPort } from './ports.ts'

/** They refuse to run as root. */
const OWNER = 'postgres'
const ROLE = 'sluice'

export interface DebianPostgres {
  version: string
  port: number
  /** A new database, owned by a role that is no superuser. */
  createDatabase(name: string): string
  stop(): Promise<void>
}

export async function startDebianPostgres(): Promise<DebianPostgres> {
  const [newest] = (await readdir('/usr/lib/postgresql')).toSorted((a, b) => Number(b) - Number(a))
  const bin = `/usr/lib/postgresql/${newest}/bin`
  const folder = await aFolder('postgres')
  const port = await freePort()
  const cluster = join(folder, 'cluster')
  run(`${bin}/initdb`, ['-D', cluster, '-A', 'trust', '-U', OWNER, '-E', 'UTF8'], owner())
  const settings = ['-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1', '-c', 'logging_collector=off']
  const child = spawnProgram('runuser', ['-u', OWNER, '--', `${bin}/postgres`, '-D', cluster, ...settings], {
    stdio: 'ignore',
  })
  await waitForPort(port)
  const psql = (statement: string): void =>
    void run('psql', ['-h', '127.0.0.1', '-p', String(port), '-U', OWNER, '-d', OWNER, '-qc', statement])
  await untilAnswering(() => psql('select 1'))
  psql(`create role ${ROLE} login`)
  return {
    version: run(`${bin}/postgres`, ['--version']).trim(),
    port,
    createDatabase: name => {
      psql(`create database ${name} owner ${ROLE}`)
      return databaseAt(port, name)
    },
    stop: async () => {
      run(`${bin}/pg_ctl`, ['-D', cluster, '-m', 'fast', 'stop'], owner())
      await stopChild(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export interface PgBouncer {
  version: string
  /** Since 1.21. */
  keepsPrepared: boolean
  urlOf(name: string): string
  stop(): Promise<void>
}

/** In transaction mode; with the versions that can, it keeps prepared statements. */
export async function startPgBouncer(postgresPort: number): Promise<PgBouncer> {
  const folder = await aFolder('pgbouncer')
  const port = await freePort()
  const version = run('pgbouncer', ['--version']).split('\n')[0]!
  const keepsPrepared = Number(/ 1\.(\d+)/.exec(version)?.[1]) >= 21
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(join(folder, 'users'), `"${ROLE}" ""\n`)
  await writeFile(file, pgBouncerIni({ folder, port, postgresPort, keepsPrepared }))
  const child = spawnProgram('pgbouncer', ['-q', file], { stdio: 'ignore', cwd: '/', ...owner() })
  await waitForPort(port)
  return {
    version,
    keepsPrepared,
    urlOf: name => databaseAt(port, name),
    stop: async () => {
      await stopChild(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface Bouncing {
  folder: string
  port: number
  postgresPort: number
  keepsPrepared: boolean
}

const pgBouncerIni = ({ folder, port, postgresPort, keepsPrepared }: Bouncing): string => `
[databases]
* = host=127.0.0.1 port=${postgresPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users
pool_mode = transaction
default_pool_size = 8
max_client_conn = 200
logfile = ${folder}/log
${keepsPrepared ? 'max_prepared_statements = 200' : ''}
`

const databaseAt = (port: number, name: string): string =>
  `postgres://${ROLE}@127.0.0.1:${port}/${name}?sslmode=disable`

async function aFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `sluice-${name}-`))
  run('chown', [OWNER, folder])
  await chmod(folder, 0o750)
  return folder
}

interface Identity {
  uid: number
  gid: number
}

const owner = (): Identity => ({ uid: Number(run('id', ['-u', OWNER])), gid: Number(run('id', ['-g', OWNER])) })

function run(command: string, args: readonly string[], identity: Partial<Identity> = {}): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    cwd: '/',
    timeout: 60_000,
    ...identity,
  })
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`)
  return stdout
}

/** It listens a moment before it takes connections. */
async function untilAnswering(ask: () => void): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return ask()
    } catch (error) {
      if (attempt === 50) throw error
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}
