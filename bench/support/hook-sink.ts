// A receiver of webhooks in a thread of its own: as little work as can be, so that what is measured is the sender. Paths
// that begin with /hang are never answered.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

export interface HookSink {
  url: string
  /** How many have been answered since the last `reset`. */
  count(): number
  /** Milliseconds from the time in each event to its arrival, since the last `reset`. */
  latencies(): Promise<number[]>
  reset(): Promise<void>
  stop(): Promise<void>
}

export async function startHookSink(): Promise<HookSink> {
  const worker = new Worker(new URL(import.meta.url))
  const [{ port, counter }] = (await once(worker, 'message')) as [{ port: number; counter: SharedArrayBuffer }]
  const count = new Int32Array(counter)
  const ask = async (question: string): Promise<number[]> => {
    worker.postMessage(question)
    const [answer] = (await once(worker, 'message')) as [number[]]
    return answer
  }
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => Atomics.load(count, 0),
    latencies: () => ask('latencies'),
    reset: async () => void (await ask('reset')),
    stop: async () => void (await worker.terminate()),
  }
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

if (!isMainThread && parentPort) {
  const counter = new SharedArrayBuffer(4)
  const count = new Int32Array(counter)
  let latencies: number[] = []
  const take = (request: string): string | null => {
    if (request.startsWith('POST /hang')) return null
    const at = /"created_at":"([^"]+)"/.exec(request)?.[1]
    latencies.push(Date.now() - Date.parse(at ?? ''))
    Atomics.add(count, 0, 1)
    return OK
  }
  const server = createServer(socket => serve(socket, take)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  parentPort.postMessage({ port: (server.address() as AddressInfo).port, counter })
  parentPort.on('message', question => {
    const answer = latencies
    if (question === 'reset') {
      latencies = []
      Atomics.store(count, 0, 0)
    }
    parentPort!.postMessage(answer)
  })
}

function serve(socket: Socket, take: (request: string) => string | null): void {
  let buffer = ''
  socket.setEncoding('latin1')
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', chunk => {
    buffer += String(chunk)
    for (;;) {
      const end = buffer.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(buffer)?.[1] ?? 0)
      if (buffer.length < end + 4 + length) return
      const answer = take(buffer.slice(0, end + 4 + length))
      buffer = buffer.slice(end + 4 + length)
      if (answer) socket.write(answer)
    }
  })
}
