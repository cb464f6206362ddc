// Reads received messages, in a thread. It answers with the message, with what it says as a report, or why it was refused; the
// bytes of attachments are given away, not copied.
import { parseMail } from '../../mail/mime/parse.ts'
import type { ParsedMail, Refused } from '../../mail/mime/parsed-mail.ts'
import { readAsReport, type ReadReport } from '../../mail/reports/read-report.ts'
import type { Work } from '../../platform/threads/thread-start.ts'
import { mailboxText } from '../../mail/address/mailbox-text.ts'
import { wordsOf } from '../search/words.ts'
import type { Finding } from '../shield/finding.ts'
import { inspectContent } from '../shield/inspect.ts'
import { readMail, type ReadMail } from './read-mail.ts'

/** As a mailbox keeps it, with what the shield sees in it and the words that it is found by. */
export interface ReadMessage {
  kind: 'message'
  mail: ReadMail
  findings: Finding[]
  words: Uint8Array
}

interface Answers {
  message: ReadMessage
  report: ReadReport
}

export type MimeOrder = { source: Uint8Array<ArrayBuffer>; wanted: keyof Answers }
export type MimeAnswer<Wanted extends keyof Answers = keyof Answers> = Answers[Wanted] | Refused

export const work: Work<MimeOrder, MimeAnswer> = ({ source, wanted }) => {
  const bytes = source.byteLength
  const parsed = parseMail(source)
  if (parsed.kind !== 'mail') return { output: parsed, bytes }
  if (wanted === 'report') return { output: readAsReport(parsed), bytes }
  const output = readMessage(parsed)
  return { output, transfer: giveAway(output.mail.attachments), bytes }
}

/** Enough to tell what a file is. */
const HEAD_BYTES = 512

function readMessage(parsed: ParsedMail): ReadMessage {
  const mail = readMail(parsed)
  const words = wordsOf({
    subject: mail.subject,
    text: mail.text,
    htmlText: mail.htmlText,
    addresses: { from: mail.from.map(mailboxText), to: [...mail.to, ...mail.cc].map(mailboxText) },
    attachmentNames: mail.attachments.flatMap(({ filename }) => filename ?? []),
    attachmentTexts: [],
  })
  const attachments = mail.attachments.map(({ declaredName, filename, contentType, content }) => ({
    declaredName,
    filename,
    contentType,
    head: content.subarray(0, HEAD_BYTES),
  }))
  return { kind: 'message', mail, findings: inspectContent({ ...mail, attachments }), words }
}

/**
 * The memory of the attachments. Those that needed no decoding are views of the source, which goes back as a whole; small
 * ones may lie in memory that Node shares among all buffers, and get their own first.
 */
function giveAway(attachments: { content: Buffer }[]): ArrayBuffer[] {
  for (const attachment of attachments) {
    const { content } = attachment
    if (content.buffer.byteLength > Buffer.poolSize) continue
    const own = new Uint8Array(content)
    attachment.content = Buffer.from(own.buffer, 0, own.byteLength)
  }
  return [...new Set(attachments.map(({ content }) => content.buffer as ArrayBuffer))]
}
