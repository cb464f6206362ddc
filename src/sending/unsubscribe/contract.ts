// The unsubscribe link: a page with a button for people, one click for machines (RFC 8058).
import { anyone, get, post } from '../../platform/http/contract.ts'

const html = 'text/html; charset=utf-8'

export const unsubscribePageEndpoint = get('/unsubscribe/{token}', {
  summary: 'The page behind an unsubscribe link; changes nothing',
  access: anyone,
  noun: 'link',
  replies: { 200: { raw: html } },
  refusals: ['not_found'],
})

export const unsubscribeEndpoint = post('/unsubscribe/{token}', {
  summary: 'Unsubscribes the recipient that the link was made for',
  access: anyone,
  noun: 'link',
  takesAnyBody: true,
  replies: { 200: { raw: html } },
  refusals: ['not_found'],
  audit: 'suppression.unsubscribe',
})
