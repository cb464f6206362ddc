// `npm test`: brings up one throw-away database cluster and runs every test file against clones of its template.
import { spawn } from 'node:child_process'
import { glob } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { startCluster } from './support/cluster.ts'

const patterns = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
const flags = process.argv.slice(2).filter(argument => argument.startsWith('--'))
const files: string[] = []
for await (const file of glob(patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts']))
  files.push(file)

const cluster = await startCluster()
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
    },
  },
)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal))
const code = await new Promise<number>(end => runner.on('close', exit => end(exit ?? 1)))
await cluster.stop()
process.exit(code)
