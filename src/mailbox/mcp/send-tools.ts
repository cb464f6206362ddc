// Tools that send. They call the one act of composing, so that the policy of the inbox, its holds and every limit apply.
import { Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Addresses } from '../../sending/messages/send-schema.ts'
import { Composed, ComposeRequest } from '../compose/compose-schema.ts'
import { compose } from '../compose/compose.ts'
import { requireMessageInReach } from '../messages/find.ts'
import { tool, type ToolAnswer } from './tool.ts'

/** What was sent cannot be taken back, and goes to people outside. */
const SENDS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

const { cc, bcc, subject, text, html, reply_all } = ComposeRequest.properties

export const sendMessageTool = tool({
  name: 'send_message',
  title: 'Send a message',
  description: 'Send mail from an inbox. It may be held for the approval of a person: the result says so.',
  input: Type.Object({ inbox_id: Uuid(), to: Addresses(), cc, bcc, subject, text, html }),
  output: Composed,
  annotations: SENDS,
  scope: 'send',
  run: async ({ world, use, caller, by, input: { inbox_id: inboxId, ...body } }) => {
    const order = { by: { ...by, action: 'inbox_message.send' }, caller, inboxId, kind: 'new' as const, body }
    return answerOf(await compose(world, use.composing, order))
  },
})

export const replyMessageTool = tool({
  name: 'reply_message',
  title: 'Reply to a message',
  description: 'Reply in the thread of a message. It may be held for the approval of a person: the result says so.',
  input: Type.Object({ message_id: Uuid(), text, html, reply_all }),
  output: Composed,
  annotations: SENDS,
  scope: 'send',
  run: async ({ world, use, caller, by, input: { message_id: originalId, ...body } }) => {
    const { inbox_id: inboxId } = await requireMessageInReach(world.db, caller.reach, originalId)
    const asReply = { ...by, action: 'inbox_message.reply' }
    const order = { by: asReply, caller, inboxId, kind: 'reply' as const, originalId, body }
    return answerOf(await compose(world, use.composing, order))
  },
})

const answerOf = (composed: Composed): ToolAnswer => ({ text: wordsFor(composed), structured: composed })

function wordsFor({ id, status, approval_id, queued, held, suppressed }: Composed): string {
  if (approval_id !== null) {
    return `Held, not sent: message ${id} waits for the approval of a person (approval ${approval_id}).`
  }
  const counts = `${queued} recipients queued, ${held} held by a pause, ${suppressed} suppressed`
  return status === 'suppressed'
    ? `Not sent: message ${id} has no recipient that is not suppressed.`
    : `Accepted as message ${id}: ${counts}.`
}
