// Reading the text of attachments, as leased work: a mail at a time, its attachments one after the other, and then the words
// of its messages anew.
import { system } from '../../platform/db/actor.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { Ended, Leased } from '../../platform/work/leased-work.ts'
import { LeasedWorker } from '../../platform/work/leased-worker.ts'
import { repeatedDelayMs } from '../../platform/work/retry-delay.ts'
import { ThreadFailure } from '../../platform/threads/thread-pool.ts'
import type { World } from '../../platform/world.ts'
import { listInboxesOfSource } from '../messages/insert.ts'
import { MESSAGES_AT_ONCE, replaceMissingWords, replaceWords } from '../search/insert-words.ts'
import type { Finding } from '../shield/finding.ts'
import {
  claimSources,
  dueAccounts,
  lockLease,
  lockSource,
  postpone,
  textLeases,
  updateText,
  type AttachmentResult,
  type ClaimedSource,
} from './queries.ts'
import { reopenTexts } from './reopen.ts'
import { readSource, type ReadSource } from './read-source.ts'
import { TextReader } from './text-reader.ts'

/** Of what the shield sees in texts that are known now, in the transaction that stores them. */
export type OnFindings = (tx: Tx, late: { sourceId: string; findings: readonly Finding[] }) => Promise<void>

/** One less than there are threads: a slow file must not keep mail and requests from being read. */
const AT_ONCE = 2
const PER_ACCOUNT = 1
/** A worker that dies while it reads an attachment may have died of it. */
const ATTEMPTS_MAX = 3
const RETRY_DELAYS_MS = [5_000, 30_000]

/** `written`: the messages that have the words already. */
type Outcome = (ReadSource & { written: ReadonlySet<string> }) | { kind: 'retry'; delayMs: number; isTried: boolean }

type EndedSource = Ended<ClaimedSource, Outcome>

export const textWorker = (world: World, onFindings: OnFindings): LeasedWorker<ClaimedSource, Outcome> => {
  const texts = new TextReader(world.threads)
  const due = dueAccounts()
  return new LeasedWorker<ClaimedSource, Outcome>(world, {
    name: 'attachment-texts',
    metric: 'attachment_texts',
    wakeOn: 'attachments',
    pollSeconds: 2,
    leaseMs: 30_000,
    limits: {
      inFlight: { all: AT_ONCE, new: AT_ONCE, slow: AT_ONCE, perAccount: PER_ACCOUNT },
      perKey: { first: PER_ACCOUNT, max: PER_ACCOUNT, aheadMax: 1, quickMs: 5_000 },
    },
    transactions: 'durable',
    claim: (tx, claim) => claimSources(tx, claim, due),
    keyOf: ({ account_id: accountId }) => ({ key: accountId, accountId }),
    attempt: async source => {
      const read = source.attempts > ATTEMPTS_MAX ? givenUp(source) : await readSource(world, texts, source)
      return { ...read, written: await writeWords(world, source, read) }
    },
    failed: (source, error) => {
      world.log.warn({ err: error, source_id: source.source_id }, 'attachments could not be read')
      const isTried = !(error instanceof ThreadFailure && /^(busy|closed)$/.test(error.reason))
      return { kind: 'retry', delayMs: repeatedDelayMs(RETRY_DELAYS_MS, source.attempts), isTried }
    },
    outcomeOf: ({ result }) => result.kind,
    record: (tx, ended) => record(tx, ended, onFindings),
    leases: textLeases,
  })
}

const givenUp = ({ attachments }: ClaimedSource): ReadSource => ({
  kind: 'read',
  results: attachments.map(({ id }) => ({ id, state: 'failed', text: null, reason: 'Reading it failed three times.' })),
  words: null,
  findings: [],
})

/**
 * Before the result is recorded, a few messages to a transaction: recording locks the inboxes of all accounts that got this
 * mail, and they would be locked for as long as their words take.
 */
async function writeWords({ db }: World, source: Leased<ClaimedSource>, { words }: ReadSource) {
  const written = new Set<string>()
  if (words === null) return written
  let after: string | null = null
  do {
    const ids: string[] = await db.transact(system('attachment-texts'), async tx =>
      (await lockLease(tx, source)) ? replaceWords(tx, { sourceId: source.source_id, words, after }) : [],
    )
    for (const id of ids) written.add(id)
    after = ids.length === MESSAGES_AT_ONCE ? ids.at(-1)! : null
  } while (after !== null)
  return written
}

/** In the order of their ids, which is that of filing, so that two that lock the same ones do so in turn. */
async function record(tx: Tx, ended: readonly EndedSource[], onFindings: OnFindings): Promise<EndedSource[]> {
  const ours: EndedSource[] = []
  for (const each of ended.toSorted((one, other) => (one.item.source_id < other.item.source_id ? -1 : 1))) {
    if (await recordOne(tx, each, onFindings)) ours.push(each)
  }
  return ours
}

/** False: the lease was lost, and another worker has it. */
async function recordOne(tx: Tx, { item, result }: EndedSource, onFindings: OnFindings): Promise<boolean> {
  if (result.kind === 'retry') {
    if (!result.isTried) await textLeases.release(tx, [item])
    else await postpone(tx, item, new Date(tx.now.getTime() + result.delayMs))
    return true
  }
  const { results, words, findings, written } = result
  const { source_id: sourceId } = item
  const ours = await Promise.all(results.map(each => updateText(tx, item.leaseToken, each)))
  // One lease is for all of them, so that all of them are lost with it.
  if (!ours.every(Boolean)) return false
  await textLeases.release(tx, [unread(tx, item, results)])
  const told = findings.length > 0 ? await listInboxesOfSource(tx, sourceId) : null
  if (told) await onFindings(tx, { sourceId, findings })
  if (words !== null) {
    await lockSource(tx, sourceId)
    if (!(await replaceMissingWords(tx, { sourceId, words, written }))) await reopenTexts(tx, [sourceId])
  }
  if (told) await reopenForLater(tx, { sourceId, told })
  return true
}

/**
 * A message that was filed for another inbox while the findings were added has not got them, and its filing has reopened
 * nothing, because these attachments were still pending. It gets them in a round of its own: filing locks inboxes before
 * the source, and the source is locked by now.
 */
async function reopenForLater(tx: Tx, { sourceId, told }: { sourceId: string; told: readonly string[] }) {
  const inboxIds = await listInboxesOfSource(tx, sourceId)
  if (inboxIds.some(id => !told.includes(id))) await reopenTexts(tx, [sourceId])
}

/** What there was no time for: claimed again, behind what else is due, because its mail has had a turn. */
const unread = (tx: Tx, item: Leased<ClaimedSource>, results: readonly AttachmentResult[]): Leased<ClaimedSource> => {
  const read = new Set(results.map(({ id }) => id))
  const attachments = item.attachments.filter(({ id }) => !read.has(id))
  return { ...item, attachments: attachments.map(each => ({ ...each, was_due_at: tx.now })) }
}
