// Reads the text of attached PDFs, in a thread. Apart from the other formats, because its library takes memory and time to
// load.
import type { Work } from '../../platform/threads/thread-start.ts'
import { asBuffer } from '../../platform/threads/thread-pool.ts'
import { TEXT_CHARS_MAX, textFrom, type AttachmentText } from './attachment-text.ts'
import { pdfText } from './formats/pdf.ts'

export interface PdfOrder {
  content: Uint8Array<ArrayBuffer>
  millisecondsMax: number
}

export const work: Work<PdfOrder, AttachmentText> = async ({ content, millisecondsMax }) => {
  const bytes = content.byteLength
  const file = asBuffer(content)
  return { output: await textFrom(() => pdfText(file, { charsMax: TEXT_CHARS_MAX, millisecondsMax })), bytes }
}
