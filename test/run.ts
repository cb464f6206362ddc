// `npm test`: brings up one throw-away database cluster and runs every test file against clones of its template.
import { spawn } from 'node:child_process'
import { glob, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { systemClock } from '../src/platform/clock.ts'
import { readConfig } from '../src/platform/config.ts'
import { loadTlsIdentity } from '../src/platform/tls.ts'
import { startCluster } from './support/cluster.ts'

const patterns = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
const flags = process.argv.slice(2).filter(argument => argument.startsWith('--'))
const files: string[] = []
for await (const file of glob(patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts']))
  files.push(file)

const cluster = await startCluster()
const dataDir = await prepareDataDir()
const concurrency = Math.max(2, Math.min(8, availableParallelism() + 1))
const runner = spawn(
  process.execPath,
  ['--test', `--test-concurrency=${concurrency}`, '--test-timeout=120000', ...flags, ...files.toSorted()],
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
await rm(dataDir, { recursive: true, force: true })
process.exit(code)

/** What each box begins with: a certificate, because making one takes a box longer than anything else at its start. */
async function prepareDataDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-data-'))
  const read = readConfig({ DATA_DIR: folder })
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  await loadTlsIdentity(read.config, systemClock())
  return folder
}
