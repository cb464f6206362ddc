// API keys at three levels: account-wide, tenant-bound, inbox-scoped.
import type { Static } from 'typebox'
import { del, get, key, post } from '../../platform/http/contract.ts'
import { Cidrs, Name, NamedObject, Nullable, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { SCOPES } from '../../platform/principal.ts'
import { ApiKey, ApiKeyWithSecret } from './key-schema.ts'

const ApiKeyCreate = NamedObject('ApiKeyCreate', {
  name: Name(255),
  scopes: Type.Array(Type.Enum([...SCOPES]), { minItems: 1, maxItems: 20 }),
  tenant_id: Type.Optional(Nullable(Uuid())),
  inbox_id: Type.Optional(Nullable(Uuid())),
  allowed_cidrs: Type.Optional(Cidrs),
  expires_in_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 36_500, description: '0 means no expiry' })),
})
export type ApiKeyCreate = Static<typeof ApiKeyCreate>

export const createKeyEndpoint = post('/v1/api-keys', {
  summary: 'Create an API key; its secret is shown once',
  access: key('admin'),
  body: ApiKeyCreate,
  replies: { 201: ApiKeyWithSecret },
  refusals: ['not_found'],
  audit: 'api_key.create',
})

export const listKeysEndpoint = get('/v1/api-keys', {
  summary: 'List API keys without their secrets, newest first',
  access: key('admin'),
  query: PageQuery({ tenant_id: Type.Optional(Uuid({ description: 'Only keys of this tenant' })) }),
  replies: { 200: Page({ keys: Type.Array(ApiKey) }) },
  refusals: ['not_found'],
})

export const revokeKeyEndpoint = del('/v1/api-keys/{id}', {
  summary: 'Revoke an API key; in force in every process when the call returns',
  access: key('admin'),
  noun: 'API key',
  replies: { 204: null },
  audit: 'api_key.revoke',
})

export const rotateKeyEndpoint = post('/v1/api-keys/{id}/rotate', {
  summary: 'Replace the secret of an API key; the old one stops working at once',
  access: key('admin', { tenantAdmin: true }),
  noun: 'API key',
  replies: { 200: ApiKeyWithSecret },
  refusals: ['forbidden'],
  audit: 'api_key.rotate',
})
