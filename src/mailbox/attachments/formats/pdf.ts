// The text of a PDF, page by page, by pdf.js. Nothing is drawn: no fonts of the system, no pictures, no scripts.
import { getDocument, VerbosityLevel } from 'unpdf/pdfjs'
import { Gathered } from './gathered.ts'
import { Unreadable } from './unreadable.ts'

/** A page without text takes half a millisecond. */
const PAGES_MAX = 5_000

interface PdfLimits {
  charsMax: number
  /** What was read by then is the text. */
  millisecondsMax: number
}

export async function pdfText(file: Buffer, { charsMax, millisecondsMax }: PdfLimits): Promise<string> {
  const deadline = performance.now() + millisecondsMax
  const text = new Gathered(charsMax)
  const task = getDocument({
    // pdf.js takes the memory for its own; a Buffer is refused.
    data: new Uint8Array(file.buffer as ArrayBuffer, file.byteOffset, file.byteLength),
    verbosity: VerbosityLevel.ERRORS,
    useSystemFonts: false,
    disableFontFace: true,
    stopAtErrors: false,
    maxImageSize: 0,
  })
  try {
    const pdf = await task.promise
    for (let number = 1; number <= Math.min(pdf.numPages, PAGES_MAX); number++) {
      if (performance.now() > deadline) break
      const page = await pdf.getPage(number)
      const { items } = await page.getTextContent({ includeMarkedContent: false })
      for (const item of items) if ('str' in item) void text.add(item.hasEOL ? `${item.str}\n` : item.str)
      page.cleanup()
      if (text.add('\n') === 'stop') break
    }
    return text.value
  } catch (error) {
    if (text.value.trim() !== '') return text.value
    if (error instanceof Error && error.name === 'PasswordException') throw new Unreadable('It is encrypted.')
    throw error
  } finally {
    await task.destroy()
  }
}
