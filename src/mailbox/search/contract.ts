// Search in an inbox.
import type { Static } from 'typebox'
import { get, key } from '../../platform/http/contract.ts'
import { Int64, Limit, NamedObject } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { MessageSummary } from '../messages/find.ts'

/** Longer ones are no search that a person types. */
const QUERY_CHARS_MAX = 1_000
/** As in lists: more than a name may have, because it may be written in more characters than it is kept in. */
const FOLDER_CHARS_MAX = 256

export const FoundMessage = NamedObject('FoundMessage', {
  ...MessageSummary.properties,
  snippet: Type.String({
    description: 'HTML: what was searched for stands in <mark>, everything else is escaped',
  }),
})
export type FoundMessage = Static<typeof FoundMessage>

export const searchEndpoint = get('/v1/inboxes/{id}/search', {
  summary: 'Search subject, text, addresses and attachments of an inbox; the best match first, then the newest',
  access: key('read', { levels: ['account', 'tenant', 'inbox'] }),
  query: Type.Object({
    q: Type.String({
      minLength: 1,
      maxLength: QUERY_CHARS_MAX,
      description:
        'Words, "phrases", -words left out, alternatives with or; the last word also as the beginning of one. Operators: ' +
        'from:, to:, subject:, has:attachment, before:, after: (2026-11-16), label:, in: (a folder, or all)',
    }),
    folder: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: FOLDER_CHARS_MAX,
        description: 'A folder, or all; without it everything but trash',
      }),
    ),
    limit: Limit,
  }),
  replies: {
    200: Type.Object({
      messages: Type.Array(FoundMessage),
      hidden: Type.Object({ spam: Int64(), trash: Int64(), blocked: Int64() }),
    }),
  },
  refusals: ['invalid_request', 'not_found'],
})
