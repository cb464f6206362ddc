// What is read in mail before it leaves: its text for the mailbox, and whatever the policy of the inbox asks about. Short
// plain text is read here; HTML, long text and everything that detectors look at is read in a thread.
import type { Attachment } from '../../mail/mime/attachment.ts'
import { snippetOf } from '../../mail/text/snippet.ts'
import { refuse } from '../../platform/refusal.ts'
import { ThreadFailure, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { World } from '../../platform/world.ts'
import { wordsOf } from '../search/words.ts'
import { hasAny } from '../tainted/quotes.ts'
import type { OutgoingOrder, OutgoingText } from './outgoing-thread.ts'
import type { FileReader, ReadFiles } from './read-files.ts'

const READING: ThreadWork = {
  module: new URL('./outgoing-thread.ts', import.meta.url),
  isAwaited: true,
  // More than composing lets in of an account, so that none of it is refused here.
  queueMax: 100,
  timeoutMs: 10_000,
}
const SHORT_CHARS_MAX = 16 * 1024

export interface Inspected extends OutgoingText {
  /** Why something could not be looked at; what is not looked at is not let through either. */
  uninspected: string | null
}

interface Inspection extends Omit<OutgoingOrder, 'attachments'> {
  files: readonly Attachment[]
  owner: string
}

export async function inspect(
  { threads }: Pick<World, 'threads'>,
  reader: FileReader,
  inspection: Inspection,
): Promise<Inspected> {
  const { text, html, wantsFindings, tainted, files, owner } = inspection
  const length = (text?.length ?? 0) + (html?.length ?? 0)
  const isCompared = hasAny(tainted)
  if (html === null && !wantsFindings && !isCompared && length <= SHORT_CHARS_MAX) {
    return inspectedHere(inspection)
  }
  const read = wantsFindings || isCompared ? await readOrBusy(reader, files, owner) : NOTHING_READ
  const { files: _, owner: __, ...order } = inspection
  try {
    const input: OutgoingOrder = { ...order, attachments: read.attachments }
    const transfer = read.attachments.flatMap(({ bytes }) => bytes?.buffer ?? [])
    const job = { input, owner, transfer, bytes: weightOf(input) }
    const output = await threads.run<OutgoingOrder, OutgoingText>(READING, job)
    return {
      ...output,
      repeatsTainted: output.repeatsTainted || (isCompared && (read.uninspected ?? read.unread) !== null),
      uninspected: read.uninspected ?? read.unread,
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

const weightOf = ({ subject, text, html, attachments, tainted: { texts, packed } }: OutgoingOrder): number => {
  const ofFiles = attachments.flatMap(file => [file.text, file.source, file.bytes])
  return [subject, text, html, ...ofFiles, ...texts, ...packed].reduce((sum, each) => sum + (each?.length ?? 0), 0)
}

const NOTHING_READ: ReadFiles = { attachments: [], uninspected: null, unread: null }

async function readOrBusy(reader: FileReader, files: readonly Attachment[], owner: string): Promise<ReadFiles> {
  try {
    return await reader.read(files, owner)
  } catch (failure) {
    throw failure instanceof ThreadFailure ? busy(failure) : failure
  }
}

function inspectedHere({ subject, text: given, ownText: own, found }: Inspection): Inspected {
  const text = given ?? ''
  const ownText = own ?? text
  // A mail that took too long to be read is found by the beginning of its text.
  const words = wordsOf({ subject, text: text.slice(0, SHORT_CHARS_MAX), htmlText: '', ...found, attachmentTexts: [] })
  const snippet = snippetOf(ownText || text)
  return { text, html: null, ownText, snippet, words, findings: [], repeatsTainted: false, uninspected: null }
}

const busy = (cause: Error) =>
  refuse('unavailable', 'Too much mail waits to be inspected. Try again shortly.', { retryAfterSeconds: 5, cause })
