// A server as an operator runs it: a process of its own, that can be killed and started again at the same port.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
/** Loaded machines start slowly, and a database that was killed has to recover first. */
const READY_MS_MAX = 120_000

export interface Server {
  url: string
  /** Starts it when it is down; waits until it is ready. */
  start(): Promise<void>
  isRunning(): boolean
  kill(): Promise<void>
  stop(): Promise<void>
}

/** It is started by `start`. */
export async function aServerProcess(environment: NodeJS.ProcessEnv): Promise<Server> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  listener.close()
  const url = `http://127.0.0.1:${port}`
  const env = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...environment, PORT: String(port) }
  let child: ChildProcess | null = null
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  const isRunning = (): boolean => child !== null && child.exitCode === null && child.signalCode === null
  const hasApi = (environment['ROLES'] ?? 'api').includes('api')
  return {
    url,
    start: async () => {
      if (!isRunning()) {
        child = spawn(process.execPath, [MAIN, 'serve'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
      }
      const deadline = performance.now() + READY_MS_MAX
      while (hasApi) {
        if (!isRunning() || performance.now() > deadline) throw new Error('the server did not get ready')
        const reply = await fetch(`${url}/readyz`).catch(() => null)
        if (reply?.status === 200) return
        await delay(50)
      }
    },
    isRunning,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}
