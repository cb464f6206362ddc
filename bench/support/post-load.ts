// A fixed number of POSTs over kept-open connections, from a thread of its own: a lean client, so that what is measured is
// the server. Raw sockets; a reply is read as far as its status and length.
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { BenchServer } from './server.ts'

export interface PostLoad {
  url: string
  bearer: string
  connections: number
  requests: number
  /** `%n` in it is the number of the request. */
  body: object
  /** Instead of the one: connections take them in turn. */
  urls?: readonly string[]
}

/** Answers the seconds it took; throws when a reply was not 202. */
export async function httpPostLoad(load: PostLoad): Promise<number> {
  const worker = new Worker(new URL(import.meta.url), { workerData: load })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

export async function apiFetch(
  server: BenchServer,
  path: string,
  body: object,
  bearer?: string,
  // oxlint-disable-next-line typescript/no-explicit-any -- replies are read freely here
): Promise<{ status: number; body: any }> {
  const token = (await readFile(join(server.dataDir, 'operator-token'), 'utf8')).trim()
  const headers = bearer ? { authorization: `Bearer ${bearer}` } : { 'x-admin-token': token }
  const reply = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: reply.status, body: await reply.json() }
}

if (!isMainThread && parentPort) {
  const load = workerData as PostLoad
  const began = performance.now()
  let left = load.requests
  const take = (): number => left--
  const urlOf = (n: number): string => load.urls?.[n % load.urls.length] ?? load.url
  await Promise.all(Array.from({ length: load.connections }, (_, n) => drive({ ...load, url: urlOf(n) }, take)))
  parentPort.postMessage((performance.now() - began) / 1000)
}

function drive({ url, bearer, body }: PostLoad, take: () => number): Promise<void> {
  const { hostname, port, pathname } = new URL(url)
  const json = JSON.stringify(body)
  const head = `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${bearer}\r\n`
  const requestOf = (text: string): string =>
    `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  const fixed = json.includes('%n') ? null : requestOf(json)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let reply = ''
    const next = (): void => {
      const n = take()
      if (n > 0) socket.write(fixed ?? requestOf(json.replace('%n', String(n))))
      else {
        socket.end()
        resolve()
      }
    }
    socket.setEncoding('latin1')
    socket.on('connect', next)
    socket.on('error', reject)
    socket.on('data', chunk => {
      reply += String(chunk)
      const end = reply.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(reply)?.[1] ?? 0)
      if (reply.length < end + 4 + length) return
      if (!reply.startsWith('HTTP/1.1 202')) return reject(new Error(reply.slice(0, 500)))
      reply = reply.slice(end + 4 + length)
      next()
    })
  })
}
