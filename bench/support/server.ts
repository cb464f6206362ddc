// A server process of our own to measure: the real command on a fresh DATA_DIR, with the default log level.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../test/support/programs/ports.ts'

export interface BenchServer {
  url: string
  pid: number
  /** Of the sandbox account made at the first start. */
  bearer: string
  tenantId: string
  dataDir: string
  stop(): Promise<void>
}

export async function startServer(environment: Record<string, string> = {}): Promise<BenchServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const port = await freePort()
  // Memory settings as in the start script of package.json.
  const env = {
    ...process.env,
    MALLOC_ARENA_MAX: '2',
    MALLOC_MMAP_THRESHOLD_: '1048576',
    DATA_DIR: dataDir,
    PORT: String(port),
    SMTP_PORT: '0',
    MX_PORT: '0',
    ...environment,
  }
  const child = spawn(process.execPath, ['--max-semi-space-size=8', 'src/main.ts', 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const welcome = await readWelcome(child)
  const url = `http://127.0.0.1:${port}`
  await waitUntilReady(url)
  return {
    url,
    pid: child.pid!,
    bearer: /svc_\S+/.exec(welcome)?.[0] ?? '',
    tenantId: /\(([0-9a-f-]{36})\)/.exec(welcome)?.[1] ?? '',
    dataDir,
    stop: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Reads on afterwards: a full pipe would stop the server's logging. */
async function readWelcome(child: ChildProcess): Promise<string> {
  let output = ''
  return new Promise((resolve, reject) => {
    child.once('exit', code => reject(new Error(`the server ended with ${code}\n${output}`)))
    child.stdout!.on('data', chunk => {
      if (output.length < 20_000) output += String(chunk)
      if (output.includes('Sluice is ready.') && output.endsWith('\n')) resolve(output)
    })
  })
}

export async function waitUntilReady(url: string, timeoutMs = 180_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (performance.now() < deadline) {
    const reply = await fetch(`${url}/readyz`).catch(() => null)
    if (reply?.status === 200) return
    await delay(20)
  }
  throw new Error(`${url} did not get ready`)
}

export async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}
