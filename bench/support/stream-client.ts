// Lean followers of streams: raw sockets that count and time what comes, so that what is measured is the server.
import { connect, type Socket } from 'node:net'
import { WebSocket } from 'ws'

export interface StreamClient {
  /** Of the last frame. */
  lastId: number
  frames: number
  isOpen: boolean
  isClosed: boolean
  /** The beginning of what came when it was not opened. */
  answer: string
  close(): void
}

export interface StreamTarget {
  url: string
  inboxId: string
  bearer: string
  afterId?: number
}

/** Called with each frame: its id and when it was made. */
type OnFrame = (id: number, createdAt: number) => void

/** Server-sent events. One that does not read asks and leaves everything to the buffers between. */
export function followRaw(target: StreamTarget, onFrame: OnFrame = () => {}, { reads = true } = {}): StreamClient {
  const { hostname, port } = new URL(target.url)
  const query = target.afterId === undefined ? '' : `?after_id=${target.afterId}`
  const socket: Socket = connect(Number(port), hostname)
  const client: StreamClient = {
    lastId: target.afterId ?? 0,
    frames: 0,
    isOpen: false,
    isClosed: false,
    answer: '',
    close: () => socket.destroy(),
  }
  socket.on('error', () => {}).on('close', () => (client.isClosed = true))
  socket.write(
    `GET /v1/inboxes/${target.inboxId}/events${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${target.bearer}\r\n\r\n`,
  )
  if (!reads) return client
  let rest = ''
  socket.setEncoding('latin1')
  socket.on('data', chunk => {
    if (!client.isOpen) {
      client.isOpen = String(chunk).startsWith('HTTP/1.1 200')
      if (!client.isOpen) {
        client.answer = String(chunk).slice(0, 500)
        return void socket.destroy()
      }
    }
    const text = rest + String(chunk)
    // A frame whose line is not complete is left for the next chunk.
    const end = text.lastIndexOf('\n\n') + 2
    for (const [, id, at] of text.slice(0, end).matchAll(/data: \{"id":(\d+),.*?"created_at":"([^"]+)"/g)) {
      client.frames += 1
      client.lastId = Number(id)
      onFrame(client.lastId, Date.parse(at!))
    }
    rest = text.slice(end)
  })
  return client
}

export function followWebSocket(target: StreamTarget, onFrame: OnFrame = () => {}): StreamClient {
  const query = target.afterId === undefined ? '' : `?after_id=${target.afterId}`
  const socket = new WebSocket(`${target.url.replace('http', 'ws')}/v1/inboxes/${target.inboxId}/ws${query}`, {
    headers: { authorization: `Bearer ${target.bearer}` },
    perMessageDeflate: false,
  })
  const client: StreamClient = {
    lastId: target.afterId ?? 0,
    frames: 0,
    isOpen: false,
    isClosed: false,
    answer: '',
    close: () => socket.terminate(),
  }
  socket.on('open', () => (client.isOpen = true)).on('close', () => (client.isClosed = true))
  socket.on('error', error => (client.answer = error.message))
  socket.on('message', data => {
    const [, id, at] = /^\{"id":(\d+),.*?"created_at":"([^"]+)"/.exec((data as Buffer).toString('latin1'))!
    client.frames += 1
    client.lastId = Number(id)
    onFrame(client.lastId, Date.parse(at!))
  })
  return client
}
