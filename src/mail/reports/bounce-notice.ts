// The words of a bounce that its author wrote: what stands above the returned message, as plain lines. The returned
// message is somebody else's text and may hold any sentence, so it is never read for the reason.

import type { ParsedMail } from '../mime/parsed-mail.ts'
import { textOfHtml } from '../text/html-text.ts'

// The reason stands in the first screen; what follows is the returned message.
const TEXT_CHARS_MAX = 32_768

const LEAD = '(?:start of |possibly truncated |text of )?'
const KIND = '(?:original|returned|undelivered|unsent|forwarded|rejected|old|bounced)'
const MESSAGE = '(?:e-?)?(?:message|mail)'
/** `The original message was received at …` is what sendmail's notices begin with. */
const NO_SENTENCE = String.raw`(?! (?:was|has|had|to|from|could|you|that|which|with|will)\b)`

/** Lines that open the returned message, or a part of it. Each must fill its line, or nearly: sentences say it too. */
const RETURNED_MESSAGE: readonly RegExp[] = [
  new RegExp(new RegExp(String.raw`^\W{0,60}${LEAD}(?:the |your )?${KIND}[ -]${MESSAGE}\b${NO_SENTENCE}[^\n]{0,60}$`)),
  /^\W{0,60}(?:[a-z]+ ){0,6}copy of (?:the|your)\b[^\n]{0,50}\b(?:message|mail)\b/,
  /^\W{0,60}(?:the )?(?:message|mail) (?:headers?|body|text|contents?)\b[^\n]{0,40}\b(?:follow|suppressed|removed)/,
  /^\W{0,60}(?:the )?headers?\b[^\n]{0,40}\b(?:of|from) (?:the|your) (?:original )?(?:message|mail)\b/,
  /^\W{0,60}(?:a )?summary of the undelivered message/,
  /^\W{0,60}(?:message|mail) details:/,
  /^(?:return-path|received|delivered-to|x-received|dkim-signature|arc-seal|x-envelope-from|x-originating-ip):/,
]

/** The notice, without quoted lines; empty when the mail begins with the returned message. */
export function noticeOf(mail: ParsedMail): string {
  const text = mail.text?.trim() ? mail.text : textOfHtml((mail.html ?? '').slice(0, 4 * TEXT_CHARS_MAX))
  const lines: string[] = []
  for (const line of text.slice(0, TEXT_CHARS_MAX).replaceAll(/\r\n?/g, '\n').split('\n')) {
    if (isReturnedMessage(line)) break
    // `> ` quotes a message; `>>> ` is what a server said it had sent, so it is no answer either. Fields of a report are
    // nobody's letter, however they were indented.
    if (!/^[ \t]*>/.test(line)) lines.push(line)
    else if (REPORT_FIELD.test(line)) lines.push(line.replace(/^[ \t>]+/, ''))
  }
  return lines.join('\n')
}

const REPORT_FIELD = /^[ \t]*> ?(?:final-recipient|original-recipient|action|status|diagnostic-code|remote-mta)[ \t]*:/i
const LINE_CHARS_MAX = 200 // what opens a returned message is short

function isReturnedMessage(line: string): boolean {
  if (line.length > LINE_CHARS_MAX) return /^(?:received|dkim-signature|arc-seal|x-received):/i.test(line.slice(0, 20))
  const lower = line.toLowerCase()
  return RETURNED_MESSAGE.some(pattern => pattern.test(lower))
}
