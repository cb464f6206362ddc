// The texts of files that are about to leave, and what of them nobody could read: what is not looked at is not let through.
import { isUtf8 } from 'node:buffer'
import type { Attachment } from '../../mail/mime/attachment.ts'
import { atOnce } from '../../platform/fairness/at-once.ts'
import type { World } from '../../platform/world.ts'
import { NO_TEXT, type AttachmentText } from '../attachments/attachment-text.ts'
import type { AttachedFile } from '../attachments/formats/format.ts'
import { isSlow, TextReader } from '../attachments/text-reader.ts'
import type { OutgoingFile } from './outgoing-thread.ts'

/** Each is read for itself. */
const FILES_READ_MAX = 50

export interface ReadFiles {
  attachments: OutgoingFile[]
  /** Why a text, or a whole file, was not read to its end. */
  uninspected: string | null
  /** Which file is none that anybody here can read. */
  unread: string | null
}

/**
 * Of all composing. One less than there are threads, as for attachments of mail that came: slow files must not keep mail and
 * requests from being read. Quick ones are short work, which has a thread of its own; as many as may wait for one.
 */
const SLOW_AT_ONCE = { permits: 2, perOwner: 1 }
const QUICK_AT_ONCE = { permits: 64, perOwner: 4 }
/** Of one mail, without the time that it waits for others: its permit is one that others wait for. At least a file is read. */
const READING_MS_MAX = 15_000

const TOO_MANY = 'Too many attachments of this account wait to be read.'

export class FileReader {
  readonly #texts: TextReader
  readonly #slow = atOnce({ ...SLOW_AT_ONCE, refusal: TOO_MANY })
  readonly #quick = atOnce({ ...QUICK_AT_ONCE, refusal: TOO_MANY })
  readonly #msMax: number

  constructor({ threads }: Pick<World, 'threads'>, { readingMsMax = READING_MS_MAX } = {}) {
    this.#texts = new TextReader(threads)
    this.#msMax = readingMsMax
  }

  /** One after the other. Rejects when there is no thread to read them. */
  async read(files: readonly Attachment[], owner: string): Promise<ReadFiles> {
    const attachments: OutgoingFile[] = []
    const isMore = files.length > FILES_READ_MAX
    let uninspected = isMore ? `Only the first ${FILES_READ_MAX} attachments were read.` : null
    let unread: string | null = null
    let usedMs = 0
    for (const [index, file] of files.slice(0, FILES_READ_MAX).entries()) {
      const { filename, contentId, content } = file
      const contentType = file.contentType ?? 'application/octet-stream'
      const labels = [contentType, contentId ?? '']
      if (usedMs > this.#msMax) {
        uninspected ??= `Only the first ${index} attachments were read in the time that it may take.`
        attachments.push({ name: filename, text: null, source: null, bytes: null, labels })
        continue
      }
      const { read, ms } = await this.#textOf({ filename, contentType, content }, owner)
      usedMs += ms
      const raw = textOfAny(content)
      const text = read.kind === 'text' ? read.text : raw
      const isWithout = text === null && isWithoutText(content, read)
      // Its name is the caller's or a stranger's: the number says which it is.
      if (read.kind === 'text' && read.isCut) uninspected ??= `Attachment ${index + 1} was read in part.`
      if (text === null && !isWithout) unread ??= `Attachment ${index + 1} could not be read.`
      // Of a page or a calendar the text is what a reader sees, and the file may say more.
      const source = raw === text ? null : raw
      attachments.push({ name: filename, text, source, bytes: isWithout ? new Uint8Array(content) : null, labels })
    }
    return { attachments, uninspected, unread }
  }

  #textOf(file: AttachedFile, owner: string): Promise<{ read: AttachmentText; ms: number }> {
    const withPermit = isSlow(file) ? this.#slow : this.#quick
    return withPermit(owner, async () => {
      const began = performance.now()
      // A copy, because what is read is given away.
      const read = await this.#texts.textOf({ ...file, content: Buffer.from(file.content) }, owner)
      return { read, ms: performance.now() - began }
    })
  }
}

/** A key or a list may come under any name: what is text is read as text. */
const TEXT_BYTES_MAX = 1_000_000

function textOfAny(content: Buffer): string | null {
  if (content.length === 0 || content.length > TEXT_BYTES_MAX) return null
  if (content[0] === 0xff && content[1] === 0xfe) return new TextDecoder('utf-16le').decode(content)
  if (content[0] === 0xfe && content[1] === 0xff) return new TextDecoder('utf-16be').decode(content)
  return isUtf8(content) && !content.includes(0) ? content.toString('utf8') : null
}

/** A scanned PDF is a picture. An Office file without text is an archive that may hold other files. */
const isWithoutText = (content: Buffer, read: AttachmentText): boolean =>
  content.length === 0 ||
  (!endsAsArchive(content) &&
    ((read.kind === 'none' && read.reason === NO_TEXT && content.subarray(0, 1_024).includes('%PDF-')) ||
      MEDIA.test(content.subarray(0, 16).toString('latin1'))))

/** The directory of a zip file stands at its end, with a comment of 64 KiB at the most behind it: any file may come before. */
const endsAsArchive = (content: Buffer): boolean => content.subarray(-66_000).includes('PK\u0005\u0006')

/** Images, audio, video and fonts, by their first bytes. */
const MEDIA = new RegExp(
  [
    String.raw`\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|BM.{4}\0{4}|II\*\0|MM\0\*|\0\0\x01\0`,
    String.raw`RIFF.{4}(?:WEBP|WAVE|AVI )|FORM.{4}AIF[FC]|.{4}ftyp|OggS|fLaC|ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb]`,
    String.raw`\x1aE\xdf\xa3|FLV\x01|wOF[F2]|OTTO|ttcf|\0\x01\0\0\0|true\0`,
  ]
    .map(each => `^(?:${each})`)
    .join('|'),
  's',
)
