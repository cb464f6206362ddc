// Finds the thread that each mail belongs to, or begins one: by the messages that it names or is named by, else by its
// subject and who takes part. A reply that comes before its parent begins a thread; the parent merges the two. A sender
// chooses what a mail names, so one mail merges few threads, and moves few rows. The caller has locked the inboxes.
import { createHash } from 'node:crypto'
import type { Tx } from '../../platform/db/database.ts'
import { newIdAt, timeOfId } from '../../platform/ids.ts'
import {
  countThreadRows,
  insertReferences,
  listAlike,
  listReferenced,
  mergeThreads,
  type AlikeThread,
  type ThreadRows,
} from './join-queries.ts'
import { ALIKE_MS, subjectKey } from './subject-key.ts'

/** A mail that is about to be filed in one inbox. */
export interface Joining {
  inboxId: string
  /** Its own Message-ID; null where it has none. */
  rfcId: string | null
  /** Those of its References and In-Reply-To, the nearest last. */
  references: readonly string[]
  subject: string
  /** Lower case, without the inbox's own address. */
  participants: readonly string[]
  at: Date
  /** The thread that a reply continues where its references lead nowhere. */
  continues?: string | null
  /** By the shield: it joins a thread, and merges none, because nobody could part them again. */
  isBlocked?: boolean
}

export interface Joined {
  threadId: string
  isNew: boolean
  subjectKey: string
}

/** What of a mail is needed to look for its thread. */
export type Seeking = Pick<Joining, 'inboxId' | 'rfcId' | 'references' | 'subject' | 'at'>

/** Threads that mails may belong to, as they are while their inboxes are locked. */
export interface FoundThreads {
  referenced: readonly Referenced[]
  alike: AlikeThreads
}

export async function findThreads(tx: Tx, mails: readonly Seeking[]): Promise<FoundThreads> {
  const [referenced, alike] = await Promise.all([
    listReferenced(
      tx,
      mails.map(mail => [mail.inboxId, idsOf(mail).map(hashOf)]),
    ),
    // A mail that refers to nothing is most likely unknown: its subject is asked about at the same time.
    alikeThreads(
      tx,
      mails.filter(({ references }) => references.length === 0),
    ),
  ])
  return { referenced, alike }
}

/** In the same order. A mail may join a thread that another one of the same call begins. */
export async function joinThreads(tx: Tx, mails: readonly Joining[], found?: FoundThreads): Promise<Joined[]> {
  const { referenced, alike } = found ?? (await findThreads(tx, mails))
  const keys = mails.map(mail => idsOf(mail).map(hashOf))
  const known = new KnownThreads(referenced)
  const lost = mails.filter(
    (mail, at) => mail.references.length > 0 && keys[at]!.every(key => known.of(mail.inboxId, key) === null),
  )
  if (lost.length > 0) alike.add(await alikeThreads(tx, lost))
  const joined: { threadId: string; subjectKey: string }[] = []
  for (const [at, mail] of mails.entries()) {
    const key = subjectKey(mail.subject)
    const ids = keys[at]!
    const found = (await threadNamed(tx, known, mail, ids)) ?? mail.continues ?? alike.find(mail, key)
    const threadId = found === null ? known.begin(mail.at) : known.resolve(found)
    known.put(mail.inboxId, ids, threadId)
    alike.put(mail, key, threadId)
    joined.push({ threadId, subjectKey: key })
  }
  insertReferences(tx, known.added)
  // One that an earlier mail of this call began may have been merged by a later one.
  return joined.map(({ threadId, subjectKey: key }) => {
    const resolved = known.resolve(threadId)
    return { threadId: resolved, isNew: known.hasBegun(resolved), subjectKey: key }
  })
}

/** Its own, then what it answers, then the nearest before that. */
const idsOf = ({ rfcId, references }: Seeking): string[] => [
  ...new Set([...(rfcId === null ? [] : [rfcId]), ...references.toReversed()]),
]

/** Ids may be as long as their sender likes; a part of the hash is enough to tell them apart. */
const hashOf = (rfcId: string): string => createHash('sha256').update(rfcId).digest('hex').slice(0, 32)

/** A parent that comes late merges two; a few more are named where several were lost on the way. */
const MERGES_MAX = 3
/** For all threads that one mail merges: those of 1,000 messages with their ids. Others wait while they are moved. */
const MOVED_ROWS_MAX = 2_000

/** The one thread that these ids belong to from now on; null where none is known. Beyond the bounds the mail only joins. */
async function threadNamed(tx: Tx, known: KnownThreads, mail: Joining, ids: readonly string[]): Promise<string | null> {
  const named = known.named(mail.inboxId, ids)
  if (named.length < 2 || mail.isBlocked) return named[0] ?? null
  const nearest = named.slice(0, MERGES_MAX + 1)
  const counted = new Map((await countThreadRows(tx, nearest, MOVED_ROWS_MAX + 1)).map(rows => [rows.id, rows]))
  const { into, moved } = known.merge(nearest.map(id => counted.get(id)!))
  await mergeThreads(
    tx,
    moved.map(from => ({ from, into })),
  )
  return into
}

export interface Referenced {
  inbox_id: string
  rfc_id: string
  thread_id: string
}

export interface Reference {
  inboxId: string
  rfcId: string
  threadId: string
}

/** Which thread a Message-ID leads to, with what this call adds. */
class KnownThreads {
  readonly #added: Reference[] = []
  readonly #begun = new Set<string>()
  readonly #byId = new Map<string, string>()
  readonly #mergedInto = new Map<string, string>()

  constructor(rows: readonly Referenced[]) {
    for (const row of rows) this.#byId.set(`${row.inbox_id} ${row.rfc_id}`, row.thread_id)
  }

  get added(): Reference[] {
    return this.#added.map(each => ({ ...each, threadId: this.resolve(each.threadId) }))
  }

  begin(at: Date): string {
    const id = newIdAt(at)
    this.#begun.add(id)
    return id
  }

  hasBegun(threadId: string): boolean {
    return this.#begun.has(threadId)
  }

  of(inboxId: string, rfcId: string): string | null {
    const threadId = this.#byId.get(`${inboxId} ${rfcId}`)
    return threadId === undefined ? null : this.resolve(threadId)
  }

  resolve(threadId: string): string {
    const into = this.#mergedInto.get(threadId)
    return into === undefined ? threadId : this.resolve(into)
  }

  /** In the order of the ids that lead to them. */
  named(inboxId: string, ids: readonly string[]): string[] {
    return [...new Set(ids.map(id => this.of(inboxId, id)).filter(id => id !== null))]
  }

  /** Into the largest, the others in their order as far as the rows go. Answers those to move that are stored. */
  merge(threads: readonly ThreadRows[]): { into: string; moved: string[] } {
    const [{ id: into }] = threads.toSorted((a, b) => this.#order(a, b)) as [ThreadRows]
    const moved: string[] = []
    let left = MOVED_ROWS_MAX
    for (const { id: from, messages, others } of threads) {
      if (from === into || messages + others > left) continue
      left -= messages + others
      this.#mergedInto.set(from, into)
      if (!this.#begun.has(from)) moved.push(from)
    }
    return { into, moved }
  }

  put(inboxId: string, ids: readonly string[], threadId: string): void {
    for (const rfcId of ids) {
      if (this.#byId.has(`${inboxId} ${rfcId}`)) continue
      this.#byId.set(`${inboxId} ${rfcId}`, threadId)
      this.#added.push({ inboxId, rfcId, threadId })
    }
  }

  /** A stored one stays before one that is not; then the largest; then the oldest. */
  #order(a: ThreadRows, b: ThreadRows): number {
    const isBegun = Number(this.#begun.has(a.id)) - Number(this.#begun.has(b.id))
    return isBegun || b.messages - a.messages || (a.id < b.id ? -1 : 1)
  }
}

/** Threads that a mail without known references may continue: same subject, somebody in common, active lately. */
async function alikeThreads(tx: Tx, mails: readonly Seeking[]): Promise<AlikeThreads> {
  const keyed = mails.map(({ inboxId, subject, at }) => ({ inboxId, subjectKey: subjectKey(subject), at }))
  const asked = keyed.filter(each => each.subjectKey !== '')
  if (asked.length === 0) return new AlikeThreads([])
  const first = asked.reduce((least, { at }) => Math.min(least, at.getTime()), Infinity)
  return new AlikeThreads(await listAlike(tx, asked, new Date(first - ALIKE_MS)))
}

class AlikeThreads {
  readonly #bySubject = new Map<string, AlikeThread[]>()

  constructor(rows: readonly AlikeThread[]) {
    for (const row of rows) this.#listOf(row.inbox_id, row.subject_key).push(row)
  }

  /** Of other subjects, or the same once more. */
  add(others: AlikeThreads): void {
    for (const [name, list] of others.#bySubject) if (!this.#bySubject.has(name)) this.#bySubject.set(name, list)
  }

  find({ inboxId, participants, at }: Joining, key: string): string | null {
    if (key === '') return null
    const present = new Set(participants)
    const [since, until] = [at.getTime() - ALIKE_MS, at.getTime() + ALIKE_MS]
    const found = this.#listOf(inboxId, key).find(
      thread =>
        thread.last_message_at.getTime() >= since &&
        // History is filed after what came later: the id of a thread has the time of the mail that began it.
        timeOfId(thread.id).getTime() <= until &&
        thread.participants.some(address => present.has(address)),
    )
    return found?.id ?? null
  }

  put({ inboxId, participants, at }: Joining, key: string, id: string): void {
    if (key === '') return
    const list = this.#listOf(inboxId, key)
    const thread = list.find(each => each.id === id)
    if (!thread) {
      list.unshift({ id, inbox_id: inboxId, subject_key: key, participants: [...participants], last_message_at: at })
      return
    }
    for (const address of participants) thread.participants.push(address)
    if (at > thread.last_message_at) thread.last_message_at = at
  }

  #listOf(inboxId: string, key: string): AlikeThread[] {
    const name = `${inboxId} ${key}`
    let list = this.#bySubject.get(name)
    if (!list) this.#bySubject.set(name, (list = []))
    return list
  }
}
