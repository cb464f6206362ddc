// Clients of streams for tests: what came over the line, frame by frame.
import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import { eventually } from '../../../test/support/factories.ts'
import { system } from '../../platform/db/actor.ts'
import type { World } from '../../platform/world.ts'

export interface SeenFrame {
  id: number
  type: string
  inbox_id: string
  created_at: string
  data: Record<string, unknown>
}

export interface Follower {
  status: number
  headers: Record<string, string | string[] | undefined>
  frames: SeenFrame[]
  /** Everything as it came. */
  text: () => string
  isClosed: () => boolean
  closeCode: () => number | null
  until(count: number): Promise<SeenFrame[]>
  close(): void
}

interface Asked {
  url: string
  inbox: string
  bearer: string
  afterId?: number | string
  headers?: Record<string, string>
}

/** Over server-sent events. */
export async function followEvents({ url, inbox, bearer, afterId, headers = {} }: Asked): Promise<Follower> {
  const query = afterId === undefined ? '' : `?after_id=${afterId}`
  const asked: ClientRequest = request(`${url}/v1/inboxes/${inbox}/events${query}`, {
    headers: { authorization: `Bearer ${bearer}`, ...headers },
    agent: false,
  })
  asked.on('error', () => {}).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  let rest = ''
  let isClosed = false
  const frames: SeenFrame[] = []
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop()!
    for (const part of parts) {
      const fields = new Map(part.split('\n').map(line => [line.split(': ')[0]!, line.slice(line.indexOf(': ') + 2)]))
      if (!fields.has('data')) continue
      const frame = JSON.parse(fields.get('data')!) as SeenFrame
      if (String(frame.id) !== fields.get('id') || frame.type !== fields.get('event')) throw new Error(part)
      frames.push(frame)
    }
  })
  response.on('close', () => (isClosed = true)).on('error', () => {})
  return {
    status: response.statusCode!,
    headers: response.headers,
    frames,
    text: () => text,
    isClosed: () => isClosed,
    closeCode: () => null,
    until: count => eventually(`${count} frames`, async () => frames.length >= count && frames),
    close: () => asked.destroy(),
  }
}

/** Over WebSocket. A refusal is the status of the handshake. */
export async function followSocket(
  { url, inbox, bearer, afterId, headers }: Asked,
  { protocols, autoPong = true }: { protocols?: string[]; autoPong?: boolean } = {},
): Promise<Follower & { socket: WebSocket }> {
  const query = afterId === undefined ? '' : `?after_id=${afterId}`
  const authorization = protocols ? {} : { authorization: `Bearer ${bearer}` }
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/inboxes/${inbox}/ws${query}`, protocols ?? [], {
    headers: { ...authorization, ...headers },
    autoPong,
  })
  const frames: SeenFrame[] = []
  let [isClosed, code]: [boolean, number | null] = [false, null]
  socket.on('message', data => frames.push(JSON.parse((data as Buffer).toString()) as SeenFrame))
  socket.on('close', given => ([isClosed, code] = [true, given]))
  socket.on('error', () => {})
  const { status, headers: answered } = await new Promise<{ status: number; headers: IncomingMessage['headers'] }>(
    resolve => {
      socket.once('upgrade', ({ headers: given }) =>
        socket.once('open', () => resolve({ status: 101, headers: given })),
      )
      socket.once('unexpected-response', (_request, response) => {
        resolve({ status: response.statusCode!, headers: response.headers })
        response.destroy()
      })
    },
  )
  return {
    socket,
    status,
    headers: answered,
    frames,
    text: () => JSON.stringify(frames),
    isClosed: () => isClosed,
    closeCode: () => code,
    until: count => eventually(`${count} frames`, async () => frames.length >= count && frames),
    close: () => socket.terminate(),
  }
}

/** Events of an inbox, appended as the acts of a mailbox do. */
export const happen = (
  { db }: World,
  { accountId, inboxId, type = 'message.updated', data = {} }: Happening,
  count = 1,
): Promise<void> =>
  db.transact(system('test'), async tx => {
    for (let n = 0; n < count; n++) tx.record({ type, accountId, inboxId, data: { ...data, n } })
  })

interface Happening {
  accountId: string
  inboxId: string
  type?: string
  data?: object
}
