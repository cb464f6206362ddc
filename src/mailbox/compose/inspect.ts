// What is read in mail before it leaves: its text for the mailbox, and whatever the policy of the inbox asks about. Short
// plain text is read here; HTML, long text and everything that detectors look at is read in a thread.
import { isUtf8 } from 'node:buffer'
import type { Attachment } from '../../mail/mime/attachment.ts'
import { refuse } from '../../platform/refusal.ts'
import { ThreadFailure, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { World } from '../../platform/world.ts'
import { TextReader } from '../attachments/text-reader.ts'
import { snippetOf } from '../inbound/read-mail.ts'
import { wordsOf } from '../search/words.ts'
import type { OutgoingOrder, OutgoingText } from './outgoing-thread.ts'

const READING: ThreadWork = {
  module: new URL('./outgoing-thread.ts', import.meta.url),
  queueMax: 64,
  timeoutMs: 10_000,
}
const SHORT_CHARS_MAX = 64 * 1024
/** Each is read for itself. */
const FILES_READ_MAX = 50

export interface Inspected extends OutgoingText {
  /** Why something could not be looked at; what is not looked at is not let through either. */
  uninspected: string | null
}

interface Inspection extends Omit<OutgoingOrder, 'attachments'> {
  files: readonly Attachment[]
  owner: string
}

export async function inspect(world: World, inspection: Inspection): Promise<Inspected> {
  const { text, html, wantsFindings, tainted, files, owner } = inspection
  const length = (text?.length ?? 0) + (html?.length ?? 0)
  if (html === null && !wantsFindings && tainted.length === 0 && length <= SHORT_CHARS_MAX) {
    return inspectedHere(inspection)
  }
  const isCompared = tainted.length > 0
  const read =
    wantsFindings || isCompared ? await readFiles(world, files, owner) : { attachments: [], uninspected: null }
  const { files: _, owner: __, ...order } = inspection
  try {
    const input: OutgoingOrder = { ...order, attachments: read.attachments }
    const output = await world.threads.run<OutgoingOrder, OutgoingText>(READING, { input, owner })
    return {
      ...output,
      repeatsTainted: output.repeatsTainted || (isCompared && read.uninspected !== null),
      uninspected: read.uninspected,
    }
  } catch (failure) {
    if (!(failure instanceof ThreadFailure)) throw failure
    if (failure.reason === 'busy' || failure.reason === 'closed' || failure.reason === 'crashed') throw busy(failure)
    // Its HTML is not shown, because it could not be sanitised.
    return {
      ...inspectedHere(inspection),
      repeatsTainted: isCompared,
      uninspected: 'It could not be read in the time and memory that it may take.',
    }
  }
}

function inspectedHere({ subject, text: given, ownText: own, found }: Inspection): Inspected {
  const text = given ?? ''
  const ownText = own ?? text
  // A mail that took too long to be read is found by the beginning of its text.
  const words = wordsOf({ subject, text: text.slice(0, SHORT_CHARS_MAX), ...found, attachmentTexts: [] })
  const snippet = snippetOf(ownText || text)
  return { text, html: null, ownText, snippet, words, findings: [], repeatsTainted: false, uninspected: null }
}

const busy = (cause: Error) =>
  refuse('unavailable', 'Too much mail waits to be inspected. Try again shortly.', { retryAfterSeconds: 5, cause })

/** A key or a list may come under any name: what is text is read as text. */
const TEXT_BYTES_MAX = 1_000_000

function textOfAny(content: Buffer): string | null {
  const head = content.subarray(0, TEXT_BYTES_MAX)
  return content.length <= TEXT_BYTES_MAX && isUtf8(head) && !head.includes(0) ? head.toString('utf8') : null
}

type ReadFiles = { attachments: { name: string | null; text: string | null }[]; uninspected: string | null }

/** One after the other; those that hold no text are known by their names alone. */
async function readFiles(world: World, files: readonly Attachment[], owner: string): Promise<ReadFiles> {
  const reader = new TextReader(world.threads)
  const attachments: ReadFiles['attachments'] = []
  for (const { filename, contentType, content } of files.slice(0, FILES_READ_MAX)) {
    // A copy, because what is read is given away.
    const file = { filename, contentType: contentType ?? 'application/octet-stream', content: Buffer.from(content) }
    try {
      const read = await reader.textOf(file, owner)
      attachments.push({ name: filename, text: read.kind === 'text' ? read.text : textOfAny(content) })
    } catch (failure) {
      throw failure instanceof ThreadFailure ? busy(failure) : failure
    }
  }
  const isMore = files.length > FILES_READ_MAX
  return { attachments, uninspected: isMore ? `Only the first ${FILES_READ_MAX} attachments were read.` : null }
}
