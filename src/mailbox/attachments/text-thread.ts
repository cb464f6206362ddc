// Reads the text of attached files, in a thread: Office files, web pages, calendars, rich and plain text.
import type { Work } from '../../platform/threads/thread-start.ts'
import { asBuffer } from '../../platform/threads/thread-pool.ts'
import { calendarText } from './formats/calendar.ts'
import type { Format } from './formats/format.ts'
import { htmlText } from './formats/markup.ts'
import { officeText } from './formats/office.ts'
import { plainText } from './formats/plain-text.ts'
import { rtfText } from './formats/rtf.ts'
import { TEXT_CHARS_MAX, textFrom, type AttachmentText } from './attachment-text.ts'

export interface TextOrder {
  format: Exclude<Format, 'pdf'>
  charset: string | null
  content: Uint8Array<ArrayBuffer>
}

export const work: Work<TextOrder, AttachmentText> = async order => ({
  output: await textFrom(() => read(order)),
  bytes: order.content.byteLength,
})

function read({ format, charset, content }: TextOrder): string {
  const file = asBuffer(content)
  switch (format) {
    case 'office':
      return officeText(file, TEXT_CHARS_MAX)
    case 'html':
      return htmlText(plainText(file, charset), TEXT_CHARS_MAX)
    case 'calendar':
      return calendarText(plainText(file, charset))
    case 'rtf':
      return rtfText(file)
    case 'plain':
      return plainText(file, charset)
  }
}
