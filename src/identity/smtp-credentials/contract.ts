// SMTP credentials: a username and a one-time password with which a tenant's programs submit mail.
import type { Static } from 'typebox'
import { del, get, key, post } from '../../platform/http/contract.ts'
import {
  Cidrs,
  DateTime,
  NamedObject,
  Nullable,
  Page,
  PageQuery,
  sensitive,
  Uuid,
} from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

const credentialFields = {
  id: Uuid(),
  tenant_id: Uuid(),
  username: Type.String(),
  allowed_cidrs: Cidrs,
  created_at: DateTime(),
  rotated_at: Nullable(DateTime()),
  last_used_at: Nullable(DateTime({ description: 'Exact to about a minute' })),
}

export const SmtpCredential = NamedObject('SmtpCredential', credentialFields)
export type SmtpCredential = Static<typeof SmtpCredential>

const SmtpCredentialWithPassword = NamedObject('SmtpCredentialWithPassword', {
  ...credentialFields,
  password: Type.String({ ...sensitive, description: 'Shown once' }),
})

/** What survives every client's settings form and every AUTH mechanism unquoted. */
export const USERNAME = /^[A-Za-z0-9._@+-]{3,64}$/

const SmtpCredentialCreate = NamedObject('SmtpCredentialCreate', {
  username: Type.Optional(
    Type.String({
      pattern: USERNAME.source,
      description: '3 to 64 characters of A-Z a-z 0-9 . _ @ + -, unique in the installation; generated when absent',
    }),
  ),
  allowed_cidrs: Type.Optional(Cidrs),
})
export type SmtpCredentialCreate = Static<typeof SmtpCredentialCreate>

export const createCredentialEndpoint = post('/v1/tenants/{id}/smtp-credentials', {
  summary: 'Create an SMTP credential; its password is shown once',
  access: key('admin'),
  body: SmtpCredentialCreate,
  isBodyOptional: true,
  replies: { 201: SmtpCredentialWithPassword },
  refusals: ['conflict'],
  audit: 'smtp_credential.create',
})

export const listCredentialsEndpoint = get('/v1/tenants/{id}/smtp-credentials', {
  summary: 'List the SMTP credentials of a tenant without their passwords, newest first',
  access: key('admin'),
  query: PageQuery({}),
  replies: { 200: Page({ credentials: Type.Array(SmtpCredential) }) },
})

export const rotateCredentialEndpoint = post('/v1/smtp-credentials/{id}/rotate', {
  summary: 'Replace the password of an SMTP credential; the old one stops working at once',
  access: key('admin', { tenantAdmin: true }),
  noun: 'SMTP credential',
  replies: { 200: SmtpCredentialWithPassword },
  refusals: ['forbidden'],
  audit: 'smtp_credential.rotate',
})

export const deleteCredentialEndpoint = del('/v1/smtp-credentials/{id}', {
  summary: 'Delete an SMTP credential; it stops working at once',
  access: key('admin'),
  noun: 'SMTP credential',
  replies: { 204: null },
  audit: 'smtp_credential.delete',
})
