// A message on its way from the session to a submission, without any socket.
import assert from 'node:assert/strict'
import { parseAddressOnly, type Address } from '../../mail/address/address.ts'
import { readHeader } from '../../mail/mime/headers.ts'
import { newId } from '../../platform/ids.ts'
import { prepareMail, type MailOrder } from './prepare-mail.ts'
import { replyFor } from './reply.ts'

const NOW = new Date('2026-11-15T03:00:00Z')
const LOGIN = { credentialId: newId(NOW), username: 'mailer', accountId: newId(NOW), tenantId: newId(NOW) }

const addresses = (texts: readonly string[]): Address[] => texts.map(text => parseAddressOnly(text)!)

export function prepare(source: string | Buffer, rest: Partial<MailOrder> & { to?: string[] } = {}) {
  const { to = ['you@example.com'], ...order } = rest
  const submission = prepareMail({
    source: Buffer.from(source),
    recipients: addresses(to),
    from: 'me@acme.example',
    smtputf8: false,
    client: { id: 'session', ip: '192.0.2.1', helo: 'laptop.example', isSecure: true },
    login: LOGIN,
    host: 'mx.sluice.test',
    now: NOW,
    ...order,
  })
  const text = submission.source.toString('utf8')
  return { submission, text, fields: readHeader(submission.source) }
}

export function refusalOf(source: string | Buffer): string {
  try {
    prepare(source)
  } catch (error) {
    return replyFor(error) ?? assert.fail(String(error))
  }
  return assert.fail('it was accepted')
}

export const FROM = 'From: Acme <hello@acme.example>'
