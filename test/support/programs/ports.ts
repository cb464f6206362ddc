// Ports of loopback, and the processes that listen on them.
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Ends with this process, however that ends short of a kill -9. */
export function spawnProgram(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, options)
  const end = (): void => void child.kill('SIGTERM')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  return child
}

/** Below those that the system hands out by itself: one of these could be taken again before the server listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 30_000)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
      return port
    } catch {
      // Somebody has it.
    } finally {
      server.close()
    }
  }
}

export async function waitForPort(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const isOpen = await new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (isOpen) return
    await delay(50)
  }
  throw new Error(`nothing listens on ${port}`)
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
