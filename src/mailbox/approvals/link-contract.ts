// The page behind the link of an approval: it shows the mail that waits, and its two buttons post the decision.
import { anyone, endpoint } from '../../platform/http/contract.ts'

/** Also of a refusal to send: a page like the others, with the reason. */
const html = { raw: 'text/html; charset=utf-8' }

export const approvalPageEndpoint = endpoint({
  method: 'GET',
  path: '/approval-links/{token}',
  summary: 'The page behind the link of an approval: the mail that waits, and two buttons. Changes nothing',
  access: anyone,
  noun: 'link',
  replies: { 200: html, 404: html, 410: html },
})

export const approveByLinkEndpoint = endpoint({
  method: 'POST',
  path: '/approval-links/{token}/approve',
  summary: 'Approve as the contact that the link was sent to; every check of approving with a key applies',
  access: anyone,
  noun: 'link',
  takesAnyBody: true,
  replies: { 200: html, 403: html, 404: html, 409: html, 410: html, 422: html, 429: html },
  audit: 'approval.approve',
})

export const rejectByLinkEndpoint = endpoint({
  method: 'POST',
  path: '/approval-links/{token}/reject',
  summary: 'Reject as the contact that the link was sent to',
  access: anyone,
  noun: 'link',
  takesAnyBody: true,
  replies: { 200: html, 403: html, 404: html, 409: html, 410: html, 422: html, 429: html },
  audit: 'approval.reject',
})
