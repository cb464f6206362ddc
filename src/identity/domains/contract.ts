// Domains: the names a tenant sends from, and the DNS records that prove they are its own.
import type { Static } from 'typebox'
import { del, get, key, post } from '../../platform/http/contract.ts'
import { DateTime, NamedObject, Nullable, Page, PageQuery, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { PURPOSES, STATES } from './stored-domain.ts'

const DomainRecord = NamedObject('DomainRecord', {
  purpose: Type.Enum([...PURPOSES]),
  type: Type.Enum(['TXT', 'CNAME', 'MX']),
  name: Type.String({ description: 'The whole name at which to publish the record' }),
  value: Type.String(),
  priority: Nullable(Type.Integer({ description: 'Of an MX record' })),
  state: Type.Enum([...STATES]),
  found: Type.Array(Type.String(), { description: 'What was in DNS there at the last look' }),
  problem: Nullable(Type.String({ description: 'What to do about it, in words' })),
})

export const Domain = NamedObject('Domain', {
  id: Uuid(),
  tenant_id: Uuid(),
  name: Type.String({ description: 'In lower-case ASCII, IDNA applied' }),
  verified: Type.Boolean({ description: 'SPF and DKIM are in place, so the tenant may send from it' }),
  mx_verified: Type.Boolean({ description: 'The MX record is in place, so inbound may be enabled' }),
  inbound_enabled: Type.Boolean(),
  dkim_selector: Type.String(),
  problem: Nullable(Type.String({ description: 'Why it is not verified, or about to be no longer' })),
  records: Type.Array(DomainRecord),
  checked_at: Nullable(DateTime({ description: 'When DNS was last looked at' })),
  verified_at: Nullable(DateTime()),
  failing_since: Nullable(DateTime({ description: 'Since when a verified domain has failed its daily checks' })),
  created_at: DateTime(),
})
export type Domain = Static<typeof Domain>

const DomainCreate = NamedObject('DomainCreate', {
  name: Type.String({ maxLength: 255, examples: ['mail.example.com'] }),
})

const DomainInbound = NamedObject('DomainInbound', { enabled: Type.Boolean() })

export const createDomainEndpoint = post('/v1/tenants/{id}/domains', {
  summary: 'Register a domain; a DKIM key pair is generated, and the records to publish are answered',
  access: key('admin'),
  body: DomainCreate,
  replies: { 201: Domain },
  refusals: ['conflict'],
  audit: 'domain.create',
})

export const listDomainsEndpoint = get('/v1/domains', {
  summary: 'List domains with their DNS records and verification state, newest first',
  access: key('read'),
  query: PageQuery({ tenant_id: Type.Optional(Uuid({ description: 'Only domains of this tenant' })) }),
  replies: { 200: Page({ domains: Type.Array(Domain) }) },
  refusals: ['not_found'],
})

export const verifyDomainEndpoint = post('/v1/domains/{id}/verify', {
  summary: 'Look the records up now; verified is true when SPF and DKIM are in place',
  access: key('admin'),
  replies: { 200: Domain },
  audit: 'domain.verify',
})

export const setInboundEndpoint = post('/v1/domains/{id}/inbound', {
  summary: 'Switch inbound mail on or off; on needs a verified MX record',
  access: key('admin'),
  body: DomainInbound,
  replies: { 200: Domain },
  refusals: ['mx_not_verified'],
  audit: 'domain.inbound',
})

export const deleteDomainEndpoint = del('/v1/domains/{id}', {
  summary: 'Delete a domain; queued mail is still sent, new mail from it is refused',
  access: key('admin'),
  replies: { 204: null },
  audit: 'domain.delete',
})
