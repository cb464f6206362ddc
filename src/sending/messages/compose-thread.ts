// Composes large messages, in a thread. It gives the contents of the files back with the source.
import { composeMessage, type OutgoingMessage } from '../../mail/mime/compose.ts'
import { asBuffer, ownMemory } from '../../platform/threads/thread-pool.ts'
import type { Work } from '../../platform/threads/thread-start.ts'

export interface ComposedSource {
  source: Uint8Array
  contents: readonly Uint8Array[]
}

export const work: Work<OutgoingMessage, ComposedSource> = message => {
  const contents = message.attachments.map(({ content }) => asBuffer(content))
  const attachments = message.attachments.map((each, index) => ({ ...each, content: contents[index]! }))
  const source = composeMessage({ ...message, attachments })
  return { output: { source, contents }, transfer: ownMemory([source, ...contents]), bytes: source.length }
}
