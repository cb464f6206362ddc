// The tool that searches an inbox.
import { Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { fitted, READS, tool } from './tool.ts'
import { showAll, MARKS, ShownMessage, UntrustedFields } from './shown.ts'

const LIMIT_DEFAULT = 20

export const searchMessagesTool = tool({
  name: 'search_messages',
  title: 'Search messages',
  description:
    'Search subject, text, addresses and attachments of an inbox: words, "phrases", -without, or; from:, to:, subject:, ' +
    'has:attachment, before:, after:, label:, in:. Best match first.',
  input: Type.Object({
    inbox_id: Uuid(),
    q: Type.String({ minLength: 1, maxLength: 1_000 }),
    folder: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'A folder, or all; by default everything but trash' }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: `Matches at most; ${LIMIT_DEFAULT} by default` }),
    ),
  }),
  output: Type.Object({
    untrusted_fields: UntrustedFields,
    messages: Type.Array(ShownMessage),
    truncated: Type.Boolean({ description: 'Fewer than were found, for their size: search more narrowly' }),
  }),
  annotations: READS,
  scope: 'read',
  run: async ({ use, caller, input: { inbox_id: inboxId, limit = LIMIT_DEFAULT, ...asked } }) => {
    const { messages: found } = await use.search.find(caller.reach, { ...asked, inboxId, limit })
    const matches = found.map(match => ({ ...match, snippet: withoutMarks(match.snippet) }))
    return fitted(Math.max(1, matches.length), async amount => {
      const { messages, text } = showAll(matches.slice(0, amount))
      const truncated = messages.length < matches.length
      const more = `Of ${matches.length} matches ${messages.length} are shown, for their size: search more narrowly.`
      return { text: truncated ? `${text}\n${more}` : text, structured: { ...MARKS, messages, truncated } }
    })
  },
})

/** Snippets come as HTML: what was searched for in marks, and characters that HTML gives a meaning as numbers. */
const withoutMarks = (html: string): string =>
  html.replace(/<\/?mark>/g, '').replace(/&#(\d{2});/g, (_, code: string) => String.fromCharCode(Number(code)))
