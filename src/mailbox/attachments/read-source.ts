// Reads the attachments of one mail and makes the words of its messages with them. All outside any transaction.
import type { Db } from '../../platform/db/database.ts'
import type { ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { World } from '../../platform/world.ts'
import type { Finding } from '../shield/finding.ts'
import type { AttachmentText } from './attachment-text.ts'
import { formatOf } from './formats/format.ts'
import { findBytes } from './content-queries.ts'
import {
  findDocument,
  listTextsOf,
  listTextsOfSource,
  type AttachmentResult,
  type ClaimedAttachment,
  type ClaimedSource,
} from './queries.ts'
import type { TextReader } from './text-reader.ts'
import type { WordsAnswer, WordsOrder } from './words-thread.ts'

export interface ReadSource {
  kind: 'read'
  /** Those that there was time for, at least one. */
  results: AttachmentResult[]
  /** Null: they stay as they are. */
  words: Uint8Array | null
  /** What the shield sees in the texts. */
  findings: Finding[]
}

const PART_BYTES = 1024 * 1024
/** It is in memory as a whole, and several are read at once. */
const BYTES_MAX = 25 * 1024 * 1024
/** Then what was read is recorded, and the rest is claimed again. */
const READING_MS_MAX = 15_000
/** Of one mail. What is behind is not searched. */
const TEXT_CHARS_MAX = 2_000_000

const MAKING_WORDS: ThreadWork = {
  module: new URL('./words-thread.ts', import.meta.url),
  queueMax: 8,
  timeoutMs: 5_000,
}

export async function readSource(
  world: World,
  texts: TextReader,
  { source_id, account_id, attachments }: ClaimedSource,
): Promise<ReadSource> {
  const began = performance.now()
  const results: AttachmentResult[] = []
  for (const attachment of attachments) {
    if (results.length > 0 && performance.now() - began > READING_MS_MAX) break
    results.push(toResult(attachment, await textOf(world.db, texts, attachment, account_id)))
  }
  const isKnown = results.some(({ state }) => state === 'done')
  const read = isKnown ? await wordsOf(world, source_id, { results, owner: account_id }) : null
  return { kind: 'read', results, words: read?.words ?? null, findings: read?.findings ?? [] }
}

/** Null: the stored text is still right. */
async function textOf(
  db: Db,
  texts: TextReader,
  attachment: ClaimedAttachment,
  owner: string,
): Promise<AttachmentText | null> {
  const { id, filename, content_type: contentType, size, has_text } = attachment
  if (has_text) return null
  if (size > BYTES_MAX) return { kind: 'none', reason: 'It is larger than 25 MB.' }
  const head = await findBytes(db, { id, is_of_draft: false }, { start: 0, bytes: PART_BYTES })
  if (!head) return { kind: 'none', reason: 'It is gone.' }
  // Pictures and the like are not fetched as a whole to be refused.
  const format = formatOf({ filename, contentType, content: head })
  if (typeof format === 'object') return { kind: 'none', reason: format.reason }
  const content = Buffer.allocUnsafeSlow(size)
  head.copy(content)
  for (let start = head.length; start < size; start += PART_BYTES) {
    const part = await findBytes(db, { id, is_of_draft: false }, { start, bytes: PART_BYTES })
    if (!part) return { kind: 'none', reason: 'It is gone.' }
    part.copy(content, start)
  }
  return texts.textOf({ filename, contentType, content }, owner)
}

async function wordsOf(
  { db, threads }: World,
  sourceId: string,
  { results, owner }: { results: readonly AttachmentResult[]; owner: string },
): Promise<WordsAnswer | null> {
  const found = await findDocument(db, sourceId)
  if (!found) return null
  const { subject, from_text, to, text, html } = found
  const known = await listTextsOfSource(db, sourceId, { charsMax: TEXT_CHARS_MAX })
  const fresh = new Map(results.map(result => [result.id, result.text]))
  const document: WordsOrder['document'] = {
    subject,
    text,
    addresses: { from: [from_text], to },
    attachmentNames: known.flatMap(({ filename }) => filename ?? []),
    attachmentTexts: upTo(
      TEXT_CHARS_MAX,
      known.flatMap(each => fresh.get(each.id) ?? each.text ?? []),
    ),
  }
  const names = new Map(known.map(({ id, filename }) => [id, filename ?? 'unnamed']))
  const inspected = (await textsOf(db, results)).map(({ id, text: read }) => ({
    name: names.get(id) ?? 'unnamed',
    text: read,
  }))
  return threads.run<WordsOrder, WordsAnswer>(MAKING_WORDS, { input: { document, html, inspected }, owner })
}

/**
 * With those that were read before: a message that was filed since knows nothing of what was found in them. In the order of
 * the attachments.
 */
async function textsOf(db: Db, results: readonly AttachmentResult[]): Promise<{ id: string; text: string }[]> {
  const before = results.filter(({ state, text }) => state === 'done' && text === null).map(({ id }) => id)
  const stored = before.length > 0 ? await listTextsOf(db, before) : []
  const byId = new Map(stored.map(({ id, text }) => [id, text]))
  return results.flatMap(({ id, text }) => {
    const known = text ?? byId.get(id)
    return known === undefined ? [] : [{ id, text: known }]
  })
}

function toResult({ id }: ClaimedAttachment, read: AttachmentText | null): AttachmentResult {
  if (read === null) return { id, state: 'done', text: null, reason: null }
  if (read.kind === 'none') return { id, state: 'none', text: null, reason: read.reason }
  return { id, state: 'done', text: read.text, reason: read.isCut ? 'It is longer than what was read of it.' : null }
}

/** The last one may go over. */
function upTo(charsMax: number, texts: readonly string[]): string[] {
  let length = 0
  return texts.filter(text => {
    const isWithin = length < charsMax
    length += text.length
    return isWithin
  })
}
