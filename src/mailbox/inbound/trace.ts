// The fields that we put above a mail that we take in: where it came from, and by whom.
import { forgedResults } from '../../mail/authentication/results-field.ts'
import { prependLines, splitSource } from '../../mail/mime/headers.ts'
import type { SmtpClient } from '../../smtp/server/door.ts'

interface Trace {
  client: Pick<SmtpClient, 'id' | 'ip' | 'helo' | 'isSecure'>
  from: string
  smtputf8: boolean
  host: string
  now: Date
}

/** The mail with our fields above it, and without those of others that pass for ours. */
export function withTrace(source: Buffer, trace: Trace): { content: Buffer; headBytes: number } {
  const head = traceFields(trace)
  return { content: prependLines(withoutForgedResults(source, trace.host), head), headBytes: Buffer.byteLength(head) }
}

/** RFC 5321 §4.4: the return path, then how it came here. Ends in CRLF. */
function traceFields({ client, from, smtputf8, host, now }: Trace): string {
  const address = client.ip.includes(':') ? `IPv6:${client.ip}` : client.ip
  const protocol = `${smtputf8 ? 'UTF8SMTP' : 'ESMTP'}${client.isSecure ? 'S' : ''}`
  const received = `Received: from ${token(client.helo)} ([${address}])\r\n\tby ${host} with ${protocol} id ${client.id};`
  return `Return-Path: <${from}>\r\n${received}\r\n\t${dateOf(now)}\r\n`
}

/** What the client called itself, as far as it is a name. */
const token = (helo: string): string => helo.replaceAll(/[^\w.:[\]-]/g, '').slice(0, 255) || 'unknown'

/** RFC 5322 §3.3. */
const dateOf = (now: Date): string => now.toUTCString().replace('GMT', '+0000')

/** Without fields that pass for our own word on who sent it. The same buffer when there are none. */
function withoutForgedResults(source: Buffer, host: string): Buffer {
  const forged = forgedResults(source.subarray(0, splitSource(source).headerEnd), host)
  if (forged.length === 0) return source
  const kept: Buffer[] = []
  let from = 0
  for (const { start, end } of forged) {
    kept.push(source.subarray(from, start))
    from = end
  }
  return Buffer.concat([...kept, source.subarray(from)])
}
