/**
 * Keeps the server up while we hold it: when it dies unasked, killed or out of memory, it is brought up again in the
 * same place and with the same password, so connection pools recover by themselves.
 */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { lookForServer, socketFiles } from './lock-file.ts'
import { bringUp, type BringUpOptions, restartUnreachable, type Server } from './server.ts'
import { trimServerLog } from './server-log.ts'
import type { Site } from './site.ts'

export interface Keeper {
  /** The server as last seen. */
  current(): Server
  stop(): Promise<void>
}

const BACKOFF_MS = { first: 100, max: 2_000 }
const LOOK_AFTER_EVERY_MS = 10_000

export function keepUp(site: Site, first: Server, options: BringUpOptions): Keeper {
  const stopping = new AbortController()
  const { signal } = stopping
  let server = first

  async function keep(): Promise<void> {
    for (;;) {
      await server.gone(signal)
      site.log('warn', 'the database server ended unexpectedly, starting it again', { pid: server.identity.pid })
      server = await bringBack()
      const { identity, socketFolder } = server
      site.log('info', 'the database server is back', { pid: identity.pid })
      // Only when someone removed our holder file, so that another process did not know we expected it here.
      if (socketFolder !== options.socketFolder) site.log('error', 'the database socket has moved, restart Sluice')
    }
  }

  async function bringBack(): Promise<Server> {
    for (let backoffMs = BACKOFF_MS.first; ; backoffMs = Math.min(backoffMs * 2, BACKOFF_MS.max)) {
      await sleep(backoffMs, undefined, { signal })
      try {
        return await bringUp(site, { ...options, signal })
      } catch (cause) {
        signal.throwIfAborted()
        site.log('error', 'the database server could not be started again', { error: (cause as Error).message })
      }
    }
  }

  const lookingAfter = setInterval(() => lookAfter(site, server), LOOK_AFTER_EVERY_MS).unref()
  const ended = keep().catch(cause => {
    // Ends only by being stopped; anything else is our mistake and must be seen.
    if (!signal.aborted) site.log('error', 'the database keeper failed', { error: String(cause) })
  })

  return {
    current: () => server,
    async stop() {
      clearInterval(lookingAfter)
      stopping.abort()
      await ended
    },
  }
}

/** Small troubles of long runs: a log that grows, and cleaners of /tmp that take the socket away. */
function lookAfter(site: Site, { socketFolder }: Server): void {
  try {
    trimServerLog(site.logFile)
    const [socket] = socketFiles(socketFolder)
    const sighting = lookForServer(site.cluster)
    const isReady = sighting.kind === 'running' && sighting.status === 'ready'
    if (isReady && !existsSync(socket)) restartUnreachable(site, sighting.server)
  } catch (cause) {
    site.log('warn', 'looking after the database server failed', { error: (cause as Error).message })
  }
}
