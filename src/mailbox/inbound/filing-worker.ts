// What was acknowledged becomes messages in inboxes, as leased work: read the source, ask DNS who sent it, parse it in a
// thread, and file it. A crash or a slow resolver delays nothing but the mail itself.
import type { Tx } from '../../platform/db/database.ts'
import { ByteBudget } from '../../platform/fairness/byte-budget.ts'
import { repeatedDelayMs } from '../../platform/work/retry-delay.ts'
import type { Ended, Leased } from '../../platform/work/leased-work.ts'
import { LeasedWorker } from '../../platform/work/leased-worker.ts'
import type { World } from '../../platform/world.ts'
import { lockFreeInboxes } from '../inboxes/lock.ts'
import { MAIL_WORDS_MAX } from '../search/insert-words.ts'
import type { Arrivals } from './arrivals.ts'
import { fileArrivals, type ReadArrival } from './file.ts'
import { arrivalLeases, claimArrivals, dueAccounts, listSources, type Arrival } from './queries.ts'
import { ArrivalReader, SMALL_BYTES } from './read-arrival.ts'
import type { RecentSources, Source } from './recent-sources.ts'

/**
 * While DNS does not answer, which it is not asked again for 30 s, or the threads have no time, or reading throws. After the
 * last one the mail is filed as far as it was understood.
 */
const RETRY_DELAYS_MS = [35_000, 60_000]

const LIMITS = {
  inFlight: { all: 256, new: 192, slow: 96 },
  perKey: { first: 32, max: 96, aheadMax: 96, quickMs: 3_000 },
}

/** Of large mail in memory at once: the source, and what was read in it. */
const LARGE_BYTES_MAX = 128 * 1024 * 1024

/**
 * Of small mail that is not quite small: text, HTML and words of it may take several times its size, and wait for their
 * transaction. Mail below this size is bounded by its number.
 */
const MEDIUM_BYTES_MIN = 32 * 1024
const MEDIUM_BYTES_MAX = 64 * 1024 * 1024
const TIMES_ITS_SIZE = 6

interface Item extends Arrival {
  /** Of a small mail. */
  source?: Source
}

type Result = { kind: 'read'; read: ReadArrival } | { kind: 'retry'; reason: string; delayMs?: number }

export function filingWorker(world: World, arrivals: Arrivals): LeasedWorker<Item, Result> {
  const reader = new ArrivalReader(world)
  const due = dueAccounts()
  const large = new ByteBudget(LARGE_BYTES_MAX)
  const medium = new ByteBudget(MEDIUM_BYTES_MAX)
  return new LeasedWorker<Item, Result>(world, {
    name: 'filing',
    metric: 'arrivals',
    wakeOn: 'arrivals',
    pollSeconds: 1,
    leaseMs: 30_000,
    limits: { ...LIMITS, whileCallersWait: { claimMax: 64, everyMs: 200, doWait: () => arrivals.isBusy } },
    transactions: 'durable',
    claim: (tx, claim) => claimArrivals(tx, claim, due),
    prepare: items => withSources(world, arrivals.recent, items),
    keyOf: item => ({ key: item.account_id, accountId: item.account_id }),
    reserve: async ({ size, account_id }, signal) =>
      size < MEDIUM_BYTES_MIN || size > SMALL_BYTES
        ? () => {}
        : await medium.acquire(size * TIMES_ITS_SIZE, account_id, signal),
    attempt: async (item, signal) => {
      if (item.source) return reader.read(item, item.source, RETRY_DELAYS_MS.length)
      const release = await large.acquire(item.size * 3, item.account_id, signal)
      try {
        return await reader.readLarge(item, RETRY_DELAYS_MS.length)
      } finally {
        release()
      }
    },
    failed: (item, error) => {
      world.log.error({ err: error, arrival: item.id }, 'a mail that came in could not be read')
      return { kind: 'retry', reason: 'failed' }
    },
    outcomeOf: ({ result }) => (result.kind === 'read' ? 'filed' : `retry_${result.reason}`),
    record,
    contended,
    recordSlots: 1,
    // Measured under load, server and database: 4.6 ms of CPU for each mail without it, 4.1 with it.
    recordGathers: { items: 48, ms: 80 },
    recordWeight: ({ item, result }) =>
      result.kind === 'read' ? weightOf(item.inbox_ids.length, result.read.words.length) : 0,
    recorded: async ended => {
      const hasFiles = ended.some(({ result }) => result.kind === 'read' && result.read.hasFiles)
      if (hasFiles) world.wakeups.hint('attachments')
    },
    leases: arrivalLeases,
  })
}

/** Of a transaction: a row is a message, and each of its words an entry in the search index. */
const RECORD_ROWS_MAX = 500

const weightOf = (inboxes: number, words: number): number =>
  inboxes / RECORD_ROWS_MAX + (inboxes * words) / MAIL_WORDS_MAX

/** Small sources are fetched together, once, where they are not at hand; large ones each in its turn. */
async function withSources(world: World, recent: RecentSources, items: readonly Leased<Item>[]) {
  const small = items.filter(item => item.size <= SMALL_BYTES && !item.source)
  for (const item of small) {
    const source = recent.take(item.source_id)
    if (source) item.source = source
  }
  const wanted = small.filter(item => !item.source)
  if (wanted.length === 0) return items
  const found = new Map(
    (await listSources(world.db, [...new Set(wanted.map(item => item.source_id))])).map(row => [row.id, row]),
  )
  for (const item of wanted) {
    const row = found.get(item.source_id)
    if (row) item.source = { content: row.content, headBytes: row.head_bytes }
  }
  return items
}

/** Mail for an inbox in which somebody changes much: the others of the batch are not to wait for it. */
async function contended(tx: Tx, ended: readonly Ended<Item, Result>[]): Promise<readonly Ended<Item, Result>[]> {
  const read = ended.filter(({ result }) => result.kind === 'read')
  const ids = [...new Set(read.flatMap(({ item }) => item.inbox_ids))]
  if (ids.length === 0) return []
  const free = new Set((await lockFreeInboxes(tx, ids)).map(({ id }) => id))
  return read.filter(({ item }) => !item.inbox_ids.every(id => free.has(id)))
}

async function record(tx: Tx, ended: readonly Ended<Item, Result>[]): Promise<readonly Ended<Item, Result>[]> {
  const deferred = ended.flatMap(({ item, result }) => {
    if (result.kind === 'read') return []
    const delaysMs = result.delayMs === undefined ? RETRY_DELAYS_MS : [result.delayMs]
    return [{ ...item, dueAt: new Date(tx.now.getTime() + repeatedDelayMs(delaysMs, item.attempts)) }]
  })
  const recorded = new Set<string>()
  if (deferred.length > 0) for (const { id } of await arrivalLeases.defer(tx, deferred)) recorded.add(id)
  const read = ended.flatMap(({ item, result }) =>
    result.kind === 'read' ? [{ arrival: item, read: result.read }] : [],
  )
  if (read.length > 0) for (const id of await fileArrivals(tx, read)) recorded.add(id)
  return ended.filter(({ item }) => recorded.has(item.id))
}
