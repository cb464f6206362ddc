// Lists of messages for a model: as data, and as text inside a fence.
import type { MessageSummary } from '../messages/message-schema.ts'
import { linesOf, show, type ShownMessage } from './shown.ts'
import { drawBoundary, fenced, NOTICE } from './untrusted.ts'

export function showAll(found: readonly MessageSummary[]): { messages: ShownMessage[]; text: string } {
  const boundary = drawBoundary(found.flatMap(wordsOf))
  const messages = found.map(message => show(message, boundary))
  const lines = messages.map((message, n) => linesOf(message, found[n]!.snippet))
  const text = [`${messages.length} messages. ${NOTICE}`, fenced(boundary, lines.join('\n\n'))].join('\n')
  return { messages, text }
}

/** All that its sender wrote into what is shown. */
export const wordsOf = ({ from, to, subject, snippet, attachments }: MessageSummary): string[] => [
  from,
  subject,
  snippet,
  to.join('\n'),
  attachments.map(({ filename }) => filename ?? '').join('\n'),
]
