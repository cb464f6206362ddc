// Reads mail that is about to leave, in a thread: its HTML is sanitised for the mailbox, and what the policy of the inbox
// asks is looked for.
import { linesToText, readHtml, shownBeside } from '../../mail/text/html-text.ts'
import { sanitiseHtml } from '../../mail/text/sanitise.ts'
import { snippetOf } from '../../mail/text/snippet.ts'
import type { Work } from '../../platform/threads/thread-start.ts'
import { wordsOf, type SearchDocument } from '../search/words.ts'
import { encodedIn, scan, type Finding, type Scanned } from './dlp/scan.ts'
import { hasAny, repeatsAny, type Tainted } from '../tainted/quotes.ts'

export type OutgoingFile = Scanned['attachments'][number]

export interface OutgoingOrder {
  subject: string
  text: string | null
  html: string | null
  /** What the caller wrote; null: in the HTML alone. */
  ownText: string | null
  attachments: readonly OutgoingFile[]
  /** Their names and addresses. */
  recipients: readonly string[]
  wantsFindings: boolean
  /** Tainted mail that it may repeat. */
  tainted: Tainted
  /** By which it is found, besides its text. */
  found: Pick<SearchDocument, 'addresses' | 'attachmentNames'>
}

export interface OutgoingText {
  text: string
  html: string | null
  ownText: string
  snippet: string
  /** As the search index takes them. */
  words: Uint8Array
  findings: Finding[]
  /** Or it could not be compared with all of it. */
  repeatsTainted: boolean
}

export const work: Work<OutgoingOrder, OutgoingText> = order => {
  const { subject, text, html, attachments, recipients, tainted } = order
  const shown = html === null ? '' : linesToText(readHtml(html).lines)
  const plain = text ?? shown
  const htmlText = text === null ? '' : shownBeside(text, shown)
  const ownText = order.ownText ?? plain
  const beside = [text === null ? '' : shown, ...attachments.map(file => file.text ?? '')]
  return {
    output: {
      text: plain,
      html: html === null ? null : sanitiseHtml(html).html,
      ownText,
      snippet: snippetOf(ownText || plain),
      words: wordsOf({ subject, text: plain, htmlText, ...order.found, attachmentTexts: [] }),
      findings: order.wantsFindings ? scan({ subject, text, html, attachments, recipients }) : [],
      repeatsTainted: hasAny(tainted) && repeatsAny(saidIn(order, [subject, plain, ...beside].join('\n')), tainted),
    },
    bytes: 2 * ((text?.length ?? 0) + (html?.length ?? 0)),
  }
}

/** As a person or a machine could read it: as it is shown, in names and sources, and what is encoded in any of them. */
function saidIn({ html, attachments, recipients }: OutgoingOrder, shown: string): string[] {
  const names = [...recipients, ...attachments.map(file => file.name ?? '')].join('\n')
  const sources = [html ?? '', ...attachments.map(file => file.source ?? '')].filter(Boolean)
  const plain = [shown, names, ...sources]
  return [...plain, ...plain.flatMap(encodedIn)].filter(Boolean)
}
