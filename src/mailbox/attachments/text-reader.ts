// Reads the text of attached files in threads, so that a hostile file costs a thread and never the service.
import { SHORT_BYTES_MAX, ThreadFailure, type ThreadPool, type ThreadWork } from '../../platform/threads/thread-pool.ts'
import type { AttachmentText } from './attachment-text.ts'
import { charsetOf, formatOf, type AttachedFile, type Format } from './formats/format.ts'
import type { PdfOrder } from './pdf-thread.ts'
import type { TextOrder } from './text-thread.ts'

const LIMITS = { queueMax: 8, timeoutMs: 5_000, buffersMbMax: 192 }
const READING: ThreadWork = { module: new URL('./text-thread.ts', import.meta.url), ...LIMITS }
const READING_PDF: ThreadWork = { module: new URL('./pdf-thread.ts', import.meta.url), ...LIMITS }
/** A long PDF ends by itself with the pages it has read; one page that takes longer than what is left is cut with the rest. */
const PDF_TIME_PART = 0.7

export class TextReader {
  readonly #threads: ThreadPool
  readonly #limits: Partial<Pick<ThreadWork, 'timeoutMs'>>

  constructor(threads: ThreadPool, limits: Partial<Pick<ThreadWork, 'timeoutMs'>> = {}) {
    this.#threads = threads
    this.#limits = limits
  }

  /**
   * The text, or why there is none. The content is given away: it is empty afterwards. Rejects when there is no thread to
   * read it or the thread died of something else than the file's size and time: worth another try.
   */
  async textOf(file: AttachedFile, owner: string): Promise<AttachmentText> {
    const format = formatOf(file)
    if (typeof format === 'object') return { kind: 'none', reason: format.reason }
    const content = ownBytes(file.content)
    const transfer = [content.buffer]
    const work = { ...(format === 'pdf' ? READING_PDF : READING), ...this.#limits }
    try {
      if (format === 'pdf') {
        const input: PdfOrder = { content, millisecondsMax: work.timeoutMs * PDF_TIME_PART }
        return await this.#threads.run<PdfOrder, AttachmentText>(work, { input, owner, transfer })
      }
      const input: TextOrder = { format, charset: charsetOf(file.contentType), content }
      const bytes = IS_PACKED[format] ? undefined : content.byteLength
      return await this.#threads.run<TextOrder, AttachmentText>(work, { input, owner, bytes, transfer })
    } catch (failure) {
      const reason = failure instanceof ThreadFailure ? REASONS[failure.reason] : undefined
      if (reason) return { kind: 'none', reason }
      throw failure
    }
  }
}

/** What is packed may take any time, however small it is. */
const IS_PACKED: Record<Format, boolean> = {
  pdf: true,
  office: true,
  html: false,
  calendar: false,
  rtf: false,
  plain: false,
}

/** Whether reading it may take seconds of a thread. */
export function isSlow(file: AttachedFile): boolean {
  const format = formatOf(file)
  return typeof format === 'string' && (IS_PACKED[format] || file.content.length > SHORT_BYTES_MAX)
}

const REASONS: Partial<Record<ThreadFailure['reason'], string>> = {
  timeout: 'Reading it took longer than it may.',
  out_of_memory: 'Reading it took more memory than it may.',
}

/** Memory that is given away must not be shared: small buffers stand in one that others use too. */
const ownBytes = (content: Buffer): Uint8Array<ArrayBuffer> =>
  content.byteLength === content.buffer.byteLength && content.buffer instanceof ArrayBuffer
    ? new Uint8Array(content.buffer)
    : new Uint8Array(content)
