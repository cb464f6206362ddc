// Extraction: a model reads a message and fills in what a JSON Schema of the caller's asks for.
import { key, post } from '../../platform/http/contract.ts'
import { NamedObject, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { LEVELS } from '../../platform/principal.ts'
import { SCHEMA_BYTES_MAX, SCHEMA_LEVELS_MAX } from './schema.ts'

export const extractEndpoint = post('/v1/inbox-messages/{id}/extract', {
  summary: 'Extract data from a message by a JSON Schema; with save the data stays on the message and `send` is needed',
  access: key('read', { levels: LEVELS, orScope: 'send' }),
  noun: 'message',
  body: NamedObject('ExtractRequest', {
    schema: Type.Record(Type.String(), Type.Unknown(), {
      description:
        `JSON Schema (2020-12, 2019-09 or draft-07) of the data: at most ${SCHEMA_BYTES_MAX / 1024} KB and ` +
        `${SCHEMA_LEVELS_MAX} levels, references within it only`,
      examples: [{ type: 'object', properties: { order_number: { type: 'string' } }, required: ['order_number'] }],
    }),
    save: Type.Optional(
      Type.Boolean({ default: false, description: 'Keep the data as `extracted_data` of the message' }),
    ),
  }),
  replies: {
    200: NamedObject('Extraction', {
      message_id: Uuid(),
      extracted_data: Type.Unknown({ description: 'Matches the schema; null for a key that may save and not read' }),
    }),
  },
  refusals: ['invalid_request', 'ai_not_enabled', 'forbidden', 'ai_token_cap', 'not_configured', 'unavailable'],
  audit: 'inbox_message.extract',
})
