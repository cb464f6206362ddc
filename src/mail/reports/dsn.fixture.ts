// Bounces for the tests, in the two kinds there are: with a part for machines, and in plain text only.

import assert from 'node:assert/strict'
import { type DsnReport, readDsn } from './dsn.ts'
import { parseMail } from '../mime/parse.ts'

/** What the reader finds in a message of these lines. */
export async function reportsIn(lines: string[]): Promise<DsnReport[]> {
  const mail = parseMail(new Uint8Array(Buffer.from(lines.join('\r\n'))))
  assert(mail.kind === 'mail')
  return readDsn(mail)
}

const HEADER = [
  'Return-Path: <>',
  'From: Mail Delivery System <MAILER-DAEMON@mx.example.net>',
  'To: b-x@bounce.acme.example',
]

/** A report by RFC 3464 with these lines for machines. */
export const report = (status: string[]): string[] => [
  ...HEADER,
  'Subject: Undelivered Mail Returned to Sender',
  'MIME-Version: 1.0',
  'Content-Type: multipart/report; report-type=delivery-status; boundary="b1"',
  '',
  '--b1',
  'Content-Type: text/plain',
  '',
  'This is the mail system at host mx.example.net.',
  '--b1',
  'Content-Type: message/delivery-status',
  '',
  ...status,
  '--b1',
  'Content-Type: message/rfc822',
  '',
  'Message-ID: <1@acme.example>',
  'Subject: Hi',
  '',
  'Hello',
  '--b1--',
  '',
]

/** A bounce that is only text. */
export const plain = (subject: string, ...body: string[]): string[] => [...HEADER, `Subject: ${subject}`, '', ...body]
