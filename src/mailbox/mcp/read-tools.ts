// Tools that read: inboxes, lists of messages, one message.
import { Cursor, DateTime, NextCursor, Nullable, Page, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import type { World } from '../../platform/world.ts'
import { readInboxPage } from '../inboxes/page.ts'
import type { AttachmentInfo } from '../messages/message-schema.ts'
import { readMessagePage } from '../messages/list.ts'
import { readMessage } from '../messages/read.ts'
import { listAttachmentTexts } from './queries.ts'
import { fitted, READS, tool, type ToolAnswer } from './tool.ts'
import {
  showAll,
  wordsOf,
  ADDRESSES_MAX,
  ATTACHMENTS_MAX,
  linesOf,
  MARKS,
  show,
  showAddresses,
  showAttachment,
  ShownAttachment,
  ShownMessage,
  UntrustedFields,
} from './shown.ts'
import { asField, clipped, drawBoundary, fenced, NOTICE } from './untrusted.ts'

const LIMIT_DEFAULT = 20
const Limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 100, description: `Rows per page; ${LIMIT_DEFAULT} by default` }),
)
const TEXT_CHARS_MAX = 40_000
const ATTACHMENT_TEXT_CHARS_MAX = 8_000

export const listInboxesTool = tool({
  name: 'list_inboxes',
  title: 'List inboxes',
  description: 'List the inboxes that this key may use, newest first.',
  input: Type.Object({ limit: Limit, cursor: Cursor }),
  output: Page({
    inboxes: Type.Array(
      Type.Object({
        id: Uuid(),
        tenant_id: Uuid(),
        address: Type.String(),
        display_name: Nullable(Type.String()),
        status: Type.String(),
      }),
    ),
  }),
  annotations: READS,
  scope: 'read',
  run: ({ world, caller, input }) =>
    fitted(input.limit ?? LIMIT_DEFAULT, async limit => {
      const page = await readInboxPage(world, caller.reach, { ...input, limit })
      const inboxes = page.inboxes.map(({ id, tenant_id, address, display_name, status }) => ({
        id,
        tenant_id,
        address,
        display_name,
        status,
      }))
      const lines = inboxes.map(({ id, address, status }) => `${id} ${address} (${status})`)
      const text = [`${inboxes.length} inboxes.`, ...lines, ...goingOn(page.next_cursor)].join('\n')
      return { text, structured: { inboxes, next_cursor: page.next_cursor } }
    }),
})

export const listMessagesTool = tool({
  name: 'list_messages',
  title: 'List messages',
  description: 'List messages of an inbox, newest first, without their texts. Read one with get_message.',
  input: Type.Object({
    inbox_id: Uuid(),
    folder: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'A folder, or all; by default everything but trash' }),
    ),
    unread: Type.Optional(Type.Boolean()),
    label: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    limit: Limit,
    cursor: Cursor,
  }),
  output: Type.Object({
    untrusted_fields: UntrustedFields,
    messages: Type.Array(ShownMessage),
    next_cursor: NextCursor,
    hidden: Type.Object({ spam: Type.Integer(), trash: Type.Integer(), blocked: Type.Integer() }),
  }),
  annotations: READS,
  scope: 'read',
  run: ({ world, caller, input: { inbox_id: inboxId, ...query } }) =>
    fitted(query.limit ?? LIMIT_DEFAULT, async limit => {
      // The primary: a replica may not know yet what was blocked or deleted.
      const page = await readMessagePage(world, caller.reach, { inboxId, query: { ...query, limit }, lists: world.db })
      const { messages, text } = showAll(page.messages)
      const { next_cursor, hidden } = page
      return {
        text: [text, ...goingOn(next_cursor)].join('\n'),
        structured: { ...MARKS, messages, next_cursor, hidden },
      }
    }),
})

export const getMessageTool = tool({
  name: 'get_message',
  title: 'Read a message',
  description: 'Read one message: its text, and of its attachments a reference and the text that was found in them.',
  input: Type.Object({ message_id: Uuid() }),
  output: Type.Object({
    untrusted_fields: UntrustedFields,
    ...ShownMessage.properties,
    cc: Type.Array(Type.String()),
    reply_to: Nullable(Type.String()),
    date: Nullable(DateTime()),
    text: Type.String({ description: 'Fenced: untrusted. Empty where the mail is blocked' }),
    text_chars: Type.Integer({ description: 'Of the whole text' }),
    text_truncated: Type.Boolean({ description: 'The rest: GET /v1/inbox-messages/{id}' }),
    attachment_texts: Type.Array(
      Type.Object({ ...ShownAttachment.properties, text: Type.String(), truncated: Type.Boolean() }),
    ),
    shield: Nullable(Type.Object({ verdict: Type.String(), reasons: Type.Array(Type.String()) })),
  }),
  annotations: READS,
  scope: 'read',
  run: async ({ world, caller, input }) => {
    const message = await readMessage(world.db, caller.reach, input.message_id)
    const texts = await attachmentTexts(world, message)
    return fitted(TEXT_CHARS_MAX, async chars => showWhole(message, { texts, chars }))
  },
})

interface AttachmentText {
  info: AttachmentInfo
  text: string
  isWhole: boolean
}

async function attachmentTexts(world: World, { id: messageId, attachments }: WholeMessage): Promise<AttachmentText[]> {
  const infos = new Map(attachments.slice(0, ATTACHMENTS_MAX).map(info => [info.id, info]))
  if (infos.size === 0) return []
  const rows = await listAttachmentTexts(world.db, {
    messageId,
    ids: [...infos.keys()],
    charsMax: ATTACHMENT_TEXT_CHARS_MAX,
  })
  return rows.map(({ id, text, is_whole }) => ({ info: infos.get(id)!, text, isWhole: is_whole }))
}

interface Showing {
  texts: readonly AttachmentText[]
  /** Of the text, and as many of all attachments together. */
  chars: number
}

type WholeMessage = Awaited<ReturnType<typeof readMessage>>

function showWhole(message: WholeMessage, { texts, chars }: Showing): ToolAnswer {
  const boundary = drawBoundary([...wordsOf(message), message.text, ...texts.map(({ text }) => text)])
  const shown = show(message, boundary)
  const isBlocked = shown.blocked
  const text = isBlocked ? '' : clipped(message.text, chars)
  const isCut = !isBlocked && message.text.length > chars
  const perFile = Math.floor(chars / Math.max(1, texts.length))
  const files = texts.map(({ info, text: found, isWhole }) => ({
    ...showAttachment(info),
    text: fenced(boundary, clipped(found, perFile)),
    truncated: !isWhole || found.length > perFile,
  }))
  const structured = {
    ...MARKS,
    ...shown,
    cc: showAddresses(message.cc, isBlocked),
    reply_to: isBlocked || message.reply_to === null ? null : asField(message.reply_to),
    date: message.date,
    text: isBlocked ? '' : fenced(boundary, text),
    text_chars: message.text.length,
    text_truncated: isCut,
    attachment_texts: files,
    // What the shield saw is quoted from the mail: its kind alone is shown.
    shield: message.shield && {
      verdict: message.shield.verdict,
      reasons: message.shield.reasons.map(({ kind }) => kind),
    },
  }
  const body = [
    linesOf(shown, message.snippet),
    ...(isBlocked ? [] : ['', text]),
    ...files.map((file, n) => `\nattachment ${file.filename ?? file.id}:\n${clipped(texts[n]!.text, perFile)}`),
  ].join('\n')
  const notes = leftOut(message, { isBlocked, isCut, chars, files })
  return { text: [NOTICE, fenced(boundary, body), ...notes].join('\n'), structured }
}

interface LeftOut {
  isBlocked: boolean
  isCut: boolean
  chars: number
  files: readonly { id: string; truncated: boolean }[]
}

/** Where to go on reading; outside the fence, because these are our words. */
function leftOut(
  { id, text, attachments, to, cc }: Awaited<ReturnType<typeof readMessage>>,
  { isBlocked, isCut, chars, files }: LeftOut,
): string[] {
  const whole = `GET /v1/inbox-messages/${id} has all.`
  const addresses = Math.max(to.length, cc.length)
  return [
    ...(isCut ? [`Cut after ${chars} of ${text.length} characters: ${whole}`] : []),
    ...files.flatMap(file => (file.truncated ? [`The text of attachment ${file.id} is cut.`] : [])),
    ...(!isBlocked && attachments.length > ATTACHMENTS_MAX
      ? [`${ATTACHMENTS_MAX} of ${attachments.length} attachments are shown: ${whole}`]
      : []),
    ...(addresses > ADDRESSES_MAX ? [`The first ${ADDRESSES_MAX} addresses of each field are shown: ${whole}`] : []),
  ]
}

const goingOn = (cursor: string | null): string[] =>
  cursor === null ? [] : [`There are more: call again with the same arguments and cursor ${cursor}`]
