// Makes the words of a message anew once its attachments were read, and looks whether they hold orders for a machine; in a
// thread, because they may be a book.
import type { Work } from '../../platform/threads/thread-start.ts'
import { linesToText, readHtml, shownBeside } from '../../mail/text/html-text.ts'
import { wordsOf, type SearchDocument } from '../search/words.ts'
import type { Finding } from '../shield/finding.ts'
import { inspectContent } from '../shield/inspect.ts'

export interface WordsOrder {
  document: Omit<SearchDocument, 'htmlText'>
  /** Sanitised, of the mail. */
  html: string | null
  /** Texts that were read now, and those that messages filed since know nothing of. */
  inspected: { name: string; text: string }[]
}

export interface WordsAnswer {
  words: Uint8Array
  findings: Finding[]
}

export const work: Work<WordsOrder, WordsAnswer> = ({ document, html, inspected }) => {
  const htmlText = html === null ? '' : shownBeside(document.text, linesToText(readHtml(html).lines))
  const words = wordsOf({ ...document, htmlText })
  const length = document.text.length + (html?.length ?? 0)
  return {
    output: { words, findings: inspectContent({ ...NOTHING, attachmentTexts: inspected }) },
    bytes: document.attachmentTexts.reduce((sum, text) => sum + text.length, length),
  }
}

/** The rest of the mail was looked at when it was filed. */
const NOTHING = {
  subject: '',
  text: '',
  html: null,
  htmlText: '',
  hiddenText: '',
  from: [],
  replyTo: [],
  to: [],
  cc: [],
  attachments: [],
}
