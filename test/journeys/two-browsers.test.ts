// Two who follow one inbox, each at one of two servers, while one of the servers is restarted: both see the sequence of the
// journal, nothing missing and nothing twice. In Node, and in two pages of a real browser.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from '../../src/platform/db/sql.ts'
import { followEvents, followSocket } from '../../src/mailbox/streams/streams.fixture.ts'
import { aBox, aDatabase, type Box } from '../support/box.ts'
import { aBrowser } from '../support/browser.ts'
import { anAccount, anInbox, eventually } from '../support/factories.ts'

interface Asked {
  /** The server of its choice first; while that one is away, the other. */
  urls: readonly [string, string]
  inbox: string
  bearer: string
}

/** Follows until it is closed, and goes on from the last id that it has seen whenever it is cut. */
interface Seer {
  ids(): Promise<number[]>
  close(): Promise<void>
}

let databaseUrl: string
let first: Box
let second: Box
before(async () => {
  databaseUrl = await aDatabase()
  first = await aBox({ databaseUrl })
  second = await aBox({ databaseUrl })
})
after(async () => {
  await first.close()
  await second.close()
})

async function throughARestart(seersOf: (asked: readonly [Asked, Asked]) => Promise<Seer[]>): Promise<void> {
  const account = await anAccount({ sandbox: true, box: second })
  const inbox = await anInbox(account)
  const key = async () =>
    (await account.api.post('/v1/api-keys', { name: 'reader', scopes: ['read'] })).body.secret as string
  const { db } = second.app.world
  const journal = async (): Promise<number[]> =>
    (await db.many<{ id: number }>(sql`select id from events where inbox_id = ${inbox} order by id limit 5000`)).map(
      row => row.id,
    )
  const seers = await seersOf([
    { urls: [first.url, second.url], inbox, bearer: await key() },
    { urls: [second.url, first.url], inbox, bearer: await key() },
  ])
  const write = async (box: Box, times: number): Promise<void> => {
    const api = box.client(account.bearer)
    const mail = (n: number) => ({ to: [`someone-${n}@example.com`], subject: `Mail ${n}`, text: 'Hello.' })
    const paths = Array.from({ length: times }, (_, n) => api.post(`/v1/inboxes/${inbox}/messages`, mail(n)))
    for (const { status } of await Promise.all(paths)) assert.equal(status, 202)
  }
  const caughtUp = () =>
    eventually('both have seen all', async () => {
      const wanted = await journal()
      const seen = await Promise.all(seers.map(each => each.ids()))
      return seen.every(ids => ids.length >= wanted.length) && { wanted, seen }
    })
  await write(first, 8)
  await caughtUp()
  const { port } = new URL(first.url)
  const closing = first.close()
  await Promise.all([closing, write(second, 12)])
  await caughtUp()
  first = await aBox({ databaseUrl, environment: { PORT: port } })
  await Promise.all([write(first, 8), write(second, 8)])
  await eventually(
    'all are delivered',
    async () => {
      const { count } = await db.one<{ count: number }>(sql`
      select count(*)::int as count from events where inbox_id = ${inbox} and type = 'message.delivered'`)
      return count === 36
    },
    30_000,
  )
  const { wanted, seen } = await caughtUp()
  for (const ids of seen) assert.deepEqual(ids, wanted)
  await Promise.all(seers.map(each => each.close()))
}

test('over WebSocket and server-sent events, through a restart of one server, both see the same sequence', async () => {
  await throughARestart(async asked => [followInNode(followSocket, asked[0]), followInNode(followEvents, asked[1])])
})

test('two pages of a browser see the same sequence through a restart of one server', async t => {
  const browser = await aBrowser(t)
  if (!browser) return
  await throughARestart(asked =>
    Promise.all(
      asked.map(async ({ urls, inbox, bearer }, n) => {
        const page = await (await browser.newContext()).newPage()
        // Of the origin that it follows: the API allows no other to read it with a key in a header.
        await page.goto(`${urls[0]}/healthz`)
        const follow = n === 0 ? followBySocket : followByFetch
        await page.evaluate(follow, { urls: [...urls], inbox, bearer })
        return {
          ids: () => page.evaluate(() => (globalThis as unknown as { seen: number[] }).seen),
          close: () => page.context().close(),
        }
      }),
    ),
  )
})

function followInNode(follow: typeof followEvents, { urls, inbox, bearer }: Asked): Seer {
  const seen: number[] = []
  let isOver = false
  const following = (async () => {
    for (let n = 0; !isOver; n++) {
      const afterId = seen.at(-1) ?? 0
      const stream = await follow({ url: urls[n % 2]!, inbox, bearer, afterId }).catch(() => null)
      let taken = 0
      const take = (): void => {
        for (const { id } of stream?.frames.slice(taken) ?? []) seen.push(id)
        taken = stream?.frames.length ?? 0
      }
      while (stream && stream.status < 300 && !stream.isClosed() && !isOver) {
        take()
        await new Promise(resolve => setTimeout(resolve, 10))
      }
      take()
      stream?.close()
    }
  })()
  return {
    ids: async () => [...seen],
    close: async () => {
      isOver = true
      await following
    },
  }
}

interface InPage {
  urls: string[]
  inbox: string
  bearer: string
}

/** In the page: what a browser has for it, a WebSocket with the key as a subprotocol. */
function followBySocket({ urls, inbox, bearer }: InPage): void {
  const seen: number[] = []
  Object.assign(globalThis, { seen })
  let n = 0
  const open = (): void => {
    const url = urls[n++ % 2]!.replace('http', 'ws')
    const socket = new WebSocket(`${url}/v1/inboxes/${inbox}/ws?after_id=${seen.at(-1) ?? 0}`, [`svc.${bearer}`])
    socket.addEventListener('message', ({ data }) => void seen.push(JSON.parse(String(data)).id))
    socket.addEventListener('close', () => void setTimeout(open, 50))
  }
  open()
}

/** In the page: server-sent events read by hand, because an EventSource cannot send a key. */
function followByFetch({ urls, inbox, bearer }: InPage): void {
  const seen: number[] = []
  Object.assign(globalThis, { seen })
  const read = async (): Promise<void> => {
    const headers = { authorization: `Bearer ${bearer}`, 'last-event-id': String(seen.at(-1) ?? 0) }
    const reply = await fetch(`${urls[0]}/v1/inboxes/${inbox}/events`, { headers })
    const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const frames = (rest + part.value).split('\n\n')
      rest = frames.pop()!
      for (const frame of frames) {
        const id = /^id: (\d+)$/m.exec(frame)?.[1]
        if (id) seen.push(Number(id))
      }
    }
  }
  const again = (): void =>
    void read()
      .catch(() => {})
      .finally(() => setTimeout(again, 50))
  again()
}
