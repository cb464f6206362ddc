// Lists of messages for a model: as data, and as text inside a fence.
import type { World } from '../../platform/world.ts'
import type { MessageSummary } from '../messages/message-schema.ts'
import { listBlocked } from './queries.ts'
import { linesOf, show, type ShownMessage } from './shown.ts'
import { drawBoundary, fenced, NOTICE } from './untrusted.ts'

export async function showAll(
  world: World,
  found: readonly MessageSummary[],
): Promise<{ messages: ShownMessage[]; text: string }> {
  const blocked = new Set((found.length === 0 ? [] : await listBlocked(world.db, idsOf(found))).map(({ id }) => id))
  const boundary = drawBoundary(found.flatMap(wordsOf))
  const messages = found.map(message => show(message, { isBlocked: blocked.has(message.id), boundary }))
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

const idsOf = (messages: readonly { id: string }[]): string[] => messages.map(({ id }) => id)
