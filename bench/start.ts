// From a fresh clone to ready, installation included, and the second start. As a stranger does it: npm start.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { heading, report } from './support/report.ts'
import { freePort } from '../test/support/programs/ports.ts'
import { waitUntilReady } from './support/server.ts'

export async function benchStart(): Promise<void> {
  heading('Start: fresh clone, npm start')
  const folder = await mkdtemp(join(tmpdir(), 'sluice clone '))
  const clone = join(folder, 'sluice')
  const cloned = spawnSync('git', ['clone', '--quiet', process.cwd(), clone], { stdio: 'inherit' })
  if (cloned.status !== 0) throw new Error('git clone failed')
  const [first, second] = [await startAndStop(clone), await startAndStop(clone)]
  await rm(folder, { recursive: true, force: true })
  report({ name: 'fresh clone to ready, install included', value: `${first.toFixed(1)} s` })
  report({ name: 'second start to ready', value: `${second.toFixed(1)} s`, target: '<= 5 s', isMet: second <= 5 })
}

async function startAndStop(clone: string): Promise<number> {
  const port = await freePort()
  const env = { ...process.env, PATH: withoutOurNode(), PORT: String(port), SMTP_PORT: '0', MX_PORT: '0' }
  const began = performance.now()
  const child = spawn('npm', ['start'], { cwd: clone, env, stdio: 'ignore', detached: true })
  await waitUntilReady(`http://127.0.0.1:${port}`)
  const seconds = (performance.now() - began) / 1000
  await stopGroup(child)
  return seconds
}

/** As Ctrl-C does: the whole foreground group gets the signal. */
async function stopGroup(child: ChildProcess): Promise<void> {
  process.kill(-child.pid!, 'SIGINT')
  await once(child, 'exit')
}

/** A stranger does not have our node_modules/.bin in front of the PATH. */
const withoutOurNode = (): string =>
  (process.env['PATH'] ?? '')
    .split(':')
    .filter(entry => !entry.includes('node_modules'))
    .join(':')
