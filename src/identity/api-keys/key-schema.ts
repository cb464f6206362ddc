// The shape of an API key: answered by the key endpoints and by the creation of an account.
import type { Static } from 'typebox'
import { Cidrs, DateTime, NamedObject, Nullable, sensitive, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { LEVELS, SCOPES } from '../../platform/principal.ts'

const keyFields = {
  id: Uuid(),
  name: Type.String(),
  prefix: Type.String({ description: 'The public part of the key' }),
  level: Type.Enum([...LEVELS]),
  scopes: Type.Array(Type.Enum([...SCOPES])),
  tenant_id: Nullable(Uuid()),
  inbox_id: Nullable(Uuid()),
  allowed_cidrs: Cidrs,
  expires_at: Nullable(DateTime()),
  created_at: DateTime(),
  rotated_at: Nullable(DateTime()),
  last_used_at: Nullable(DateTime({ description: 'Exact to about a minute' })),
}

export const ApiKey = NamedObject('ApiKey', keyFields)
export type ApiKey = Static<typeof ApiKey>

export const ApiKeyWithSecret = NamedObject('ApiKeyWithSecret', {
  ...keyFields,
  secret: Type.String({ ...sensitive, description: 'The whole bearer string; shown once' }),
})
export type ApiKeyWithSecret = Static<typeof ApiKeyWithSecret>
