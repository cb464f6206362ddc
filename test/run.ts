// `npm test`: brings up one throw-away database cluster and runs every test file against clones of its template.
import { spawn } from 'node:child_process'
import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/platform/config.ts'
import { loadTlsIdentity } from '../src/platform/tls.ts'
import { startCluster } from './support/cluster.ts'
import { preparePrimes } from './support/primes.ts'

const MEASURES_PROCESS = /memoryUsage|resourceUsage/
/** Of source: some eight files. */
const GROUP_BYTES = 60_000
const GROUP_MS_MAX = 240_000

const patterns = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
const flags = process.argv.slice(2).filter(argument => argument.startsWith('--'))
const files: string[] = []
for await (const file of glob(patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts']))
  files.push(file)

const cluster = await startCluster()
const groups = await writeGroups()
const dataDir = await prepareDataDir()
const concurrency = Math.max(2, Math.min(8, availableParallelism() + 1))
const runner = spawn(
  process.execPath,
  ['--test', `--test-concurrency=${concurrency}`, `--test-timeout=${GROUP_MS_MAX}`, ...flags, ...groups.files],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      // Half of what a test file and a started server cost is stripping types and compiling: once per version of a file.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? resolve('node_modules/.cache/compiled'),
      SLUICE_TEST_CLUSTER: cluster.url,
      SLUICE_TEST_SUPERUSER: cluster.superuserUrl,
      SLUICE_TEST_DATA_DIR: dataDir,
    },
  },
)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal))
const code = await new Promise<number>(end => runner.on('close', exit => end(exit ?? 1)))
await cluster.stop()
for (const folder of [dataDir, groups.folder]) await rm(folder, { recursive: true, force: true })
process.exit(code)

/**
 * Files that share a process: loading the service takes longer than most files do. Those that measure the memory of their
 * process have it for themselves. The longest come first, so that no process is the last one for long.
 */
async function writeGroups(): Promise<{ folder: string; files: string[] }> {
  const sources = await Promise.all(
    files.toSorted().map(async file => ({ file: resolve(file), source: await readFile(file, 'utf8') })),
  )
  const { alone = [], together = [] } = Object.groupBy(sources, ({ source }) =>
    MEASURES_PROCESS.test(source) ? 'alone' : 'together',
  )
  const sets: (typeof sources)[] = alone.map(each => [each])
  let bytes = Infinity
  for (const each of together) {
    if (bytes > GROUP_BYTES) {
      sets.push([])
      bytes = 0
    }
    sets.at(-1)!.push(each)
    bytes += each.source.length
  }
  const bytesOf = (set: typeof sources) => set.reduce((sum, { source }) => sum + source.length, 0)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-groups-'))
  const module = resolve('test/support/group.ts')
  const written = sets
    .toSorted((a, b) => bytesOf(b) - bytesOf(a))
    .map(async (set, at) => {
      const path = join(folder, `group-${String(at + 1).padStart(2, '0')}.mjs`)
      const paths = set.map(({ file }) => file)
      await writeFile(path, `import { runGroup } from ${JSON.stringify(module)}\nrunGroup(${JSON.stringify(paths)})\n`)
      return path
    })
  return { folder, files: await Promise.all(written) }
}

/** What each box begins with: a certificate and primes, because finding them takes longer than anything else does. */
async function prepareDataDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-data-'))
  const read = readConfig({ DATA_DIR: folder })
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  await loadTlsIdentity(read.config, systemClock())
  await preparePrimes(folder)
  return folder
}
