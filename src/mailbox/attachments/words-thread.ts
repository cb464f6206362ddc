// Makes the words of a message anew once its attachments were read, and looks whether they hold orders for a machine; in a
// thread, because they may be a book.
import type { Work } from '../../platform/threads/thread-start.ts'
import { wordsOf, type SearchDocument } from '../search/words.ts'
import type { Finding } from '../shield/finding.ts'
import { inspectContent } from '../shield/inspect.ts'

export interface WordsOrder {
  document: SearchDocument
  /** Texts that nobody has looked at yet. */
  inspected: { name: string; text: string }[]
}

export interface WordsAnswer {
  words: string
  findings: Finding[]
}

export const work: Work<WordsOrder, WordsAnswer> = ({ document, inspected }) => ({
  output: { words: wordsOf(document), findings: inspectContent({ ...NOTHING, attachmentTexts: inspected }) },
  bytes: document.attachmentTexts.reduce((sum, text) => sum + text.length, document.text.length),
})

/** The rest of the mail was looked at when it was filed. */
const NOTHING = { subject: '', text: '', html: null, hiddenText: '', from: [], replyTo: [], attachments: [] }
