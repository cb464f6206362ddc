// `npm run check`: types, lint, format and tidiness, side by side, in seconds.
import { spawn } from 'node:child_process'

const steps: Record<string, string[]> = {
  // Types are worked out once for both.
  'types and lint': ['oxlint', '--type-aware', '--type-check', '--deny-warnings'],
  format: ['oxfmt', '--check', '.'],
  tidy: ['node', '--test', '--test-reporter=dot', 'test/tidy/*.test.ts'],
}

const started = performance.now()
const results = await Promise.all(Object.entries(steps).map(([name, command]) => run(name, command)))
const isClean = results.every(Boolean)
console.log(isClean ? `check: all clean in ${seconds(started)} s` : 'check: failed')
process.exit(isClean ? 0 : 1)

function run(name: string, [command, ...args]: string[]): Promise<boolean> {
  const began = performance.now()
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += String(chunk)))
  return new Promise(resolve =>
    child.on('close', code => {
      console.log(`${code === 0 ? '✓' : '✗'} ${name} (${seconds(began)} s)`)
      if (code !== 0) console.log(output.trimEnd())
      resolve(code === 0)
    }),
  )
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1)
}
