// `npm test`: brings up one throw-away database cluster and runs every test file against clones of its template.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/platform/config.ts'
import { loadTlsIdentity } from '../src/platform/tls.ts'
import { startCluster } from './support/cluster.ts'
import { memoryFolder } from './support/memory-folder.ts'
import { preparePrimes } from './support/primes.ts'
import { LIST, processesFor, unendedOf, type QueueOptions } from './support/queue.ts'

const MEASURES_PROCESS = /memoryUsage|resourceUsage/
/** In the head of a file. Such files run one after the other beside the rest: taken from the common list, they leave the cores idle. */
const WAITS = /^\/\/ Waits more than it works\.$/m
/** What stands under `test` starts whole servers: it takes longer than its length tells. */
const JOURNEY_FACTOR = 4
/** Of one test or hook. Files have a limit of their own. */
const TEST_MS_MAX = 240_000
/** Beyond it, something is wrong with more than the time. */
const AGAIN_MAX = 12

const patterns = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
const flags = process.argv.slice(2).filter(argument => argument.startsWith('--'))
const files: string[] = []
for (const pattern of patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts']) {
  const before = files.length
  for await (const file of glob(pattern)) files.push(file)
  if (files.length > before) continue
  console.error(`no file is called ${pattern}`)
  process.exit(2)
}

// Half of what a test file and a started server cost is stripping types and compiling: once per version of a file.
const compiled = process.env['NODE_COMPILE_CACHE'] ?? resolve('node_modules/.cache/compiled')
const [cluster] = await Promise.all([startCluster(), existsSync(compiled) ? null : fillCompileCache()])
// All that tests write; databases among it, which belong to another user.
const scratch = await mkdtemp(join(await memoryFolder(), 'sluice-test-'))
await chmod(scratch, 0o755)
const dataDir = await prepareDataDir()
/** Processes at once, without the one for files that wait. */
const concurrency = Math.max(2, Math.min(8, availableParallelism() + 1))
let runner: ChildProcess | null = null
let isEnding = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end(signal))

const first = await run('first', await inOrder(files), { processes: concurrency, hasHooks: patterns.length > 0 })
const code = first.code === 0 || first.failed.length === 0 ? first.code : await runAgain(first.failed)
await cluster.stop()
await rm(scratch, { recursive: true, force: true })
process.exit(code)

function end(signal: NodeJS.Signals): void {
  isEnding = true
  runner?.kill(signal)
}

/**
 * Many tests give the service so many seconds for something, and a machine that runs all of them, or whose host is busy,
 * may not give them to the service. What failed is run once more with nothing beside it. What fails then is broken; what
 * passes is named, so that somebody looks.
 */
async function runAgain(failed: readonly string[]): Promise<number> {
  if (isEnding || failed.length > AGAIN_MAX || patterns.length > 0) return 1
  console.log(`\nonce more, one after the other:\n  ${failed.join('\n  ')}\n`)
  const alone = failed.map(path => resolve(path))
  const { code: again } = await run('again', { alone, waiting: [], shared: [] }, { processes: 1, hasHooks: true })
  if (again === 0) console.log(`\npassed only when run alone:\n  ${failed.join('\n  ')}`)
  return again
}

interface Order {
  /** Each has a process for itself. */
  alone: readonly string[]
  /** One process runs them, one after the other. */
  waiting: readonly string[]
  shared: readonly string[]
}

/** Answers with the files that failed, those among them that were not run to their end. */
async function run(
  name: string,
  { alone, waiting, shared }: Order,
  { processes, hasHooks }: { processes: number; hasHooks: boolean },
): Promise<{ code: number; failed: string[] }> {
  const filesOf = new Map<string, { queue: string; files: readonly string[] }>()
  const waitingQueue = await writeQueue(`${name}-waiting`, waiting)
  const sharedQueue = await writeQueue(`${name}-shared`, shared)
  // The runner begins processes in the order of their names.
  const add = async (process: string, queue: string, files: readonly string[]): Promise<void> => {
    filesOf.set(await writeProcess(`${name}-${process}`, { folder: queue, hasHooks }), { queue, files })
  }
  if (waiting.length > 0) await add('1-waiting', waitingQueue, waiting)
  for (const [n, file] of alone.entries())
    await add(`2-alone-${n}`, await writeQueue(`${name}-alone-${n}`, [file]), [file])
  for (let n = 0; n < processesFor(shared.length, processes); n++) await add(`3-shared-${n}`, sharedQueue, shared)
  // For what is left where the first of them came to an end too early.
  if (waiting.length > 1) await add('4-waiting', waitingQueue, waiting)
  const failures = join(scratch, `${name}-failed`)
  const reporters = [
    ['--test-reporter=spec', '--test-reporter-destination=stdout'],
    [`--test-reporter=${resolve('test/support/failures.ts')}`, `--test-reporter-destination=${failures}`],
  ].flat()
  runner = spawn(
    process.execPath,
    [
      '--test',
      `--test-concurrency=${processes + Math.min(1, waiting.length)}`,
      `--test-timeout=${TEST_MS_MAX}`,
      ...(flags.some(flag => flag.startsWith('--test-reporter')) ? [] : reporters),
      ...flags,
      ...filesOf.keys(),
    ],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: compiled,
        SLUICE_TEST_CLUSTER: cluster.url,
        SLUICE_TEST_SUPERUSER: cluster.superuserUrl,
        SLUICE_TEST_DATA_DIR: dataDir,
        TMPDIR: scratch,
      },
    },
  )
  const exit = await new Promise<number>(end => runner!.on('close', status => end(status ?? 1)))
  const names = (await readFile(failures, 'utf8').catch(() => '')).split('\n').filter(Boolean)
  // A process that came to an end, whatever its exit code, has left the file that it was at, and perhaps those that no other took.
  const unended = [...filesOf.values()].flatMap(each => unendedOf(each.queue, each.files))
  const failed = [...names.filter(each => !filesOf.has(each)), ...unended].map(path =>
    relative(process.cwd(), resolve(path)),
  )
  for (const path of new Set(unended))
    console.error(`not run to its end, or thrown outside of its tests: ${relative(process.cwd(), path)}`)
  return { code: exit === 0 && unended.length > 0 ? 1 : exit, failed: [...new Set(failed)] }
}

async function writeQueue(name: string, files: readonly string[]): Promise<string> {
  const folder = join(scratch, `${name}-queue`)
  await mkdir(folder)
  await writeFile(join(folder, LIST), JSON.stringify(files))
  return folder
}

/** The hooks of the runner are found before it is loaded. */
async function writeProcess(name: string, options: QueueOptions): Promise<string> {
  const [hooks, queue] = ['runner-hooks', 'queue'].map(name => JSON.stringify(resolve(`test/support/${name}.ts`)))
  const path = join(scratch, `${name}.mjs`)
  const lines = [
    `import ${hooks}`,
    `const { runQueue } = await import(${queue})`,
    `await runQueue(${JSON.stringify(options)})`,
  ]
  await writeFile(path, lines.join('\n'))
  return path
}

/** Those that measure the memory of their process have it for themselves. The longest come first, the processes end together. */
async function inOrder(all: readonly string[]): Promise<Order> {
  const sources = await Promise.all(
    all.map(async file => {
      const source = await readFile(file, 'utf8')
      const weight = source.length * (file.startsWith('test') ? JOURNEY_FACTOR : 1)
      const kind = MEASURES_PROCESS.test(source) ? 'alone' : WAITS.test(source) ? 'waiting' : 'shared'
      return { path: resolve(file), weight, kind }
    }),
  )
  const pathsOf = (kind: keyof Order): string[] =>
    sources
      .filter(each => each.kind === kind)
      .toSorted((a, b) => b.weight - a.weight)
      .map(({ path }) => path)
  return { alone: pathsOf('alone'), waiting: pathsOf('waiting'), shared: pathsOf('shared') }
}

/**
 * A process writes what it compiled as it ends, and the first groups end late: in a new copy of the repository each process
 * up to then would compile all of the service. One that loads it and ends does that while the database comes up.
 */
function fillCompileCache(): Promise<unknown> {
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled }
  return once(spawn(process.execPath, ['src/main.ts', 'workers'], { env, stdio: 'ignore' }), 'exit')
}

/** What each box begins with: a certificate and primes, because finding them takes longer than anything else does. */
async function prepareDataDir(): Promise<string> {
  const folder = await mkdtemp(join(scratch, 'data-'))
  const read = readConfig({ DATA_DIR: folder })
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  await loadTlsIdentity(read.config, systemClock())
  await preparePrimes(folder)
  return folder
}
