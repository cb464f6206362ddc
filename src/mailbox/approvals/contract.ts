// Approvals: composed mail that waits for a person, because the policy of its inbox says so.
import type { Static } from 'typebox'
import { anyone, get, key, post } from '../../platform/http/contract.ts'
import { DateTime, NamedObject, Nullable, Page, PageQuery, sensitive, Uuid } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { LEVELS } from '../../platform/principal.ts'

const STATUSES = ['pending', 'approved', 'rejected', 'sent'] as const

const Finding = NamedObject('DlpFinding', {
  detector: Type.Enum(['payment_card', 'iban', 'us_ssn', 'private_key', 'api_token']),
  label: Type.String({ description: 'Which of its kind' }),
  where: Type.String({
    description: 'subject, text, html, recipients, attachment_name, attachment_type or attachment:<name>',
  }),
  excerpt: Type.String({ description: 'The beginning and the end of what was found' }),
  start: Nullable(Type.Integer({ description: 'Where it stands in that part; null where it was encoded' })),
  end: Nullable(Type.Integer()),
})

const Reason = NamedObject('ApprovalReason', {
  kind: Type.Enum(['dlp', 'taint', 'rate', 'expired']),
  detail: Type.String(),
  findings: Type.Optional(Type.Array(Finding, { description: 'What to highlight' })),
})

const Who = Type.Object({ type: Type.String(), id: Nullable(Type.String()), name: Type.String() })

export const Approval = NamedObject('Approval', {
  id: Uuid(),
  inbox_id: Uuid(),
  status: Type.Enum([...STATUSES]),
  reasons: Type.Array(Reason),
  message: Type.Object({
    id: Uuid({ description: 'The message in the mailbox' }),
    thread_id: Uuid(),
    message_id: Nullable(Uuid({ description: 'The accepted submission' })),
    from: Type.String(),
    to: Type.Array(Type.String()),
    cc: Type.Array(Type.String()),
    bcc: Type.Array(Type.String()),
    subject: Type.String({ ...sensitive }),
    snippet: Type.String({ ...sensitive }),
    text: Type.String({ ...sensitive, description: 'The beginning; the message has the rest' }),
    has_attachments: Type.Boolean(),
  }),
  requested_by: Who,
  decided_by: Nullable(Who),
  decided_at: Nullable(DateTime()),
  created_at: DateTime(),
  expires_at: DateTime({ description: 'Still pending then: rejected' }),
})
export type Approval = Static<typeof Approval>

const read = key('read', { levels: LEVELS })

export const listApprovalsEndpoint = get('/v1/inboxes/{id}/approvals', {
  summary: 'List the approvals of an inbox, newest first',
  access: read,
  query: PageQuery({ status: Type.Optional(Type.Enum([...STATUSES])) }),
  isLargeRead: true,
  replies: { 200: Page({ approvals: Type.Array(Approval) }) },
})

export const getApprovalEndpoint = get('/v1/approvals/{id}', {
  summary: 'An approval with what was found and a preview of the mail',
  access: read,
  replies: { 200: Approval },
})

export const approveEndpoint = post('/v1/approvals/{id}/approve', {
  summary: 'Approve: exactly what was held is submitted for delivery. Not with the key that asked',
  access: key('admin'),
  replies: { 200: Approval },
  refusals: [
    'already_decided',
    'conflict',
    'forbidden',
    'inbox_paused',
    'recipient_not_allowed',
    'sending_suspended',
    'tenant_disabled',
    'domain_not_verified',
    'too_many_recipients',
    'rate_limited',
    'quota_exceeded',
  ],
  audit: 'approval.approve',
})

export const rejectEndpoint = post('/v1/approvals/{id}/reject', {
  summary: 'Reject: the mail stays in its thread and never leaves',
  access: key('admin'),
  replies: { 200: Approval },
  refusals: ['already_decided'],
  audit: 'approval.reject',
})

/** Also of a refusal to send: a page like the others, with the reason. */
const html = { raw: 'text/html; charset=utf-8' }

export const approvalPageEndpoint = get('/approval-links/{token}', {
  summary: 'The page behind the link of an approval: the mail that waits, and two buttons. Changes nothing',
  access: anyone,
  noun: 'link',
  replies: { 200: html, 404: html, 410: html },
})

const decision = {
  access: anyone,
  noun: 'link',
  takesAnyBody: true,
  replies: { 200: html, 403: html, 404: html, 409: html, 410: html, 422: html, 429: html },
} as const

export const approveByLinkEndpoint = post('/approval-links/{token}/approve', {
  ...decision,
  summary: 'Approve as the contact that the link was sent to; every check of approving with a key applies',
  audit: 'approval.approve',
})

export const rejectByLinkEndpoint = post('/approval-links/{token}/reject', {
  ...decision,
  summary: 'Reject as the contact that the link was sent to',
  audit: 'approval.reject',
})
