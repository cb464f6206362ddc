// The bytes of an attachment on their way to a caller, a slice at a time: what is in memory is a slice or two, whatever the
// size and however slowly it is read. It is never shown as what its sender says it is.
import { Readable } from 'node:stream'
import type { Db } from '../../platform/db/database.ts'
import { Semaphore } from '../../platform/fairness/semaphore.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import { findBytes, requireAttachment, type AttachmentHead } from './content-queries.ts'
import { rangeOf, type Range, type RangeHeaders } from './range.ts'

const SLICE_BYTES = 512 * 1024
const AT_ONCE = { permits: 64, perOwner: 16, waitMsMax: 20_000 }
/** A reader that takes no slice for so long is cut: it keeps others out. */
const STALL_MS_MAX = 30_000

export class Downloads {
  readonly #db: Db
  readonly #permits = new Semaphore(AT_ONCE)
  readonly #stallMs: number

  constructor(db: Db, stallMs: number = STALL_MS_MAX) {
    this.#db = db
    this.#stallMs = stallMs
  }

  async begin(reach: Reach, id: string, headers: RangeHeaders) {
    const attachment = await requireAttachment(this.#db, reach, id)
    const { size } = attachment
    // An attachment never changes, so its id is all that there is to compare.
    const etag = `"${attachment.id}"`
    const range = rangeOf(headers, { size, etag })
    if (range === 'unsatisfiable') {
      throw refuse('range_not_satisfiable', `The attachment has ${size} bytes; the range begins behind them.`, {
        headers: { 'content-range': `bytes */${size}` },
      })
    }
    const { start, end } = range ?? { start: 0, end: size }
    await this.#permits.acquireConfirmed(reach.accountId, tooMany)
    return {
      status: range ? (206 as const) : (200 as const),
      body: this.#stream(attachment, { start, end }, reach.accountId),
      headers: {
        ...headersOf(attachment, etag),
        'content-length': String(end - start),
        ...(range && { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
      },
    }
  }

  #stream(attachment: AttachmentHead, range: Range, owner: string): Readable {
    const stalled = { timer: undefined as NodeJS.Timeout | undefined }
    const wait = (): void => {
      clearTimeout(stalled.timer)
      stalled.timer = setTimeout(() => stream.destroy(), this.#stallMs)
    }
    const stream = Readable.from(slices(this.#db, { attachment, range, wait }), {
      objectMode: false,
      highWaterMark: SLICE_BYTES,
    })
    stream.once('close', () => {
      clearTimeout(stalled.timer)
      this.#permits.release(owner)
    })
    wait()
    return stream
  }
}

async function* slices(
  db: Db,
  { attachment, range, wait }: { attachment: AttachmentHead; range: Range; wait: () => void },
): AsyncGenerator<Buffer> {
  for (let start = range.start; start < range.end; start += SLICE_BYTES) {
    wait()
    const part = await findBytes(db, attachment, { start, bytes: Math.min(SLICE_BYTES, range.end - start) })
    // The length was promised: the connection ends, and the caller sees that something is missing.
    if (!part) throw new Error('an attachment was removed while it was being read')
    yield part
  }
}

const headersOf = ({ filename }: AttachmentHead, etag: string): Record<string, string> => ({
  'content-disposition': dispositionOf(filename),
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cache-control': 'private, no-store',
  'accept-ranges': 'bytes',
  etag,
})

/** RFC 6266: a name in ASCII for old clients, and the whole one (RFC 8187) where that is not all of it. */
export function dispositionOf(filename: string | null): string {
  const name = (filename ?? '').toWellFormed().replace(/[\p{Cc}\p{Cf}]/gu, '')
  if (name === '') return 'attachment'
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^ -~]/gu, '_')
    .replace(/["\\%]/g, '_')
  if (plain === name) return `attachment; filename="${name}"`
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

const tooMany = () =>
  refuse('unavailable', 'Too many attachments of this account are being read. Try again shortly.', {
    retryAfterSeconds: 5,
  })
