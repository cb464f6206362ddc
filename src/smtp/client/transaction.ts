// One message over one open connection: MAIL, RCPT for each recipient, DATA, the content, and an outcome per recipient.
// With PIPELINING (RFC 2920) that is two writes and two round trips, whatever the number of recipients.
import { isAscii } from 'node:buffer'
import { endOfData, wireForm } from '../dot-stuff.ts'
import { formatReply, parseReply, type SmtpReply } from '../../mail/reports/smtp-reply.ts'
import type { Connection } from './connection.ts'
import { Failure, outcomeOf, type Envelope, type Outcome, type Phase, type Timeouts } from './outcome.ts'
import type { RawReply } from './reply-reader.ts'

interface Exchange {
  connection: Connection
  envelope: Envelope
  timeouts: Timeouts
  /** Null while the recipient is still hoping. */
  outcomes: (Outcome | null)[]
  /** MAIL and the recipients must be done with by then, on the clock of `performance.now`. */
  envelopeUntil: number
  /** The server has answered something, so it is alive and has seen this transaction. */
  isAnswered: boolean
  /** It has said that it is about to close (421). */
  goodbye: SmtpReply | null
}

/** The connection was kept from before and turned out to be dead: nothing was transmitted, a fresh one may be tried. */
export const STALE = Symbol('stale')

/** Never rejects for anything the server does. Leaves the connection clean, or marked, or destroyed. */
export async function transact(
  connection: Connection,
  envelope: Envelope,
  timeouts: Timeouts,
): Promise<Outcome[] | typeof STALE> {
  const unfit = findUnfit(connection, envelope)
  if (unfit) return envelope.recipients.map(() => refusal(connection, 'mail', unfit))
  const exchange: Exchange = {
    connection,
    envelope,
    timeouts,
    outcomes: envelope.recipients.map(() => null),
    envelopeUntil: performance.now() + timeouts.envelopeMs,
    isAnswered: false,
    goodbye: null,
  }
  connection.uses += 1
  try {
    const isOpen = connection.extensions.pipelining ? await offerAtOnce(exchange) : await offerStepwise(exchange)
    if (isOpen) await sendContent(exchange)
  } catch (failure) {
    connection.destroy('the transaction failed')
    if (!(failure instanceof Failure)) throw failure
    if (isStale(exchange, failure)) return STALE
    settleAll(exchange, failure)
  }
  // The server wants to close: the next message takes another connection.
  if (exchange.goodbye) connection.quit(timeouts.quitMs)
  return exchange.outcomes as Outcome[]
}

/**
 * The answer that is certain before a word is said. The source is composed by us or was checked at the door, and is
 * looked at once more all the same: a bare line break would let it end itself and begin another message, in our name,
 * at the receiver (SMTP smuggling). That costs 4 µs for 4 KiB, a twentieth of what sending them costs.
 */
function findUnfit({ extensions }: Connection, envelope: Envelope): SmtpReply | null {
  const { source, mailFrom, recipients } = envelope
  const isOdd = ODD.test(mailFrom) || recipients.some(address => ODD.test(address))
  if (isOdd && CONTROL.test(mailFrom + recipients.join(''))) {
    return synthetic(553, '5.1.3', 'Address contains control characters')
  }
  if (wireForm(source).hasBareLineBreak) return synthetic(554, '5.6.0', 'Message contains a bare line break or a NUL')
  if (!extensions.smtputf8 && (envelope.smtputf8 || isOdd)) {
    return synthetic(553, '5.6.7', 'Receiving server does not support SMTPUTF8')
  }
  if (extensions.sizeMax !== null && source.length > extensions.sizeMax) {
    return synthetic(552, '5.3.4', `Message of ${source.length} bytes exceeds the receiver's ${extensions.sizeMax}`)
  }
  if (!extensions.eightBitMime && !isAscii(source)) {
    return synthetic(554, '5.6.3', 'Message has 8-bit content and the receiving server does not support 8BITMIME')
  }
  return null
}

/** Anything but printable ASCII: if not a control character, then what needs SMTPUTF8. */
const ODD = /[^ -~]/
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/
const synthetic = (code: number, enhanced: string, text: string): SmtpReply => ({ code, enhanced, text })

function mailCommand({ extensions }: Connection, { mailFrom, source, smtputf8 }: Envelope): string {
  const size = extensions.size ? ` SIZE=${source.length}` : ''
  // Claimed only where it is true: a relay may re-encode what is said to be 8-bit, and so break its signature.
  const body = extensions.eightBitMime && !isAscii(source) ? ' BODY=8BITMIME' : ''
  return `MAIL FROM:<${mailFrom}>${size}${body}${smtputf8 ? ' SMTPUTF8' : ''}\r\n`
}

/** All commands in one write. Answers whether the server now waits for the content. */
async function offerAtOnce(exchange: Exchange): Promise<boolean> {
  const { connection, envelope, timeouts } = exchange
  let commands = mailCommand(connection, envelope)
  for (const recipient of envelope.recipients) commands += `RCPT TO:<${recipient}>\r\n`
  connection.write(`${commands}DATA\r\n`, envelope.recipients.length + 2)
  const mail = await readReply(exchange, 'mail', timeouts.commandMs)
  if (!isYes(mail, 'mail')) refuseOpen(exchange, mail, 'mail')
  else connection.needsReset = true
  for (let index = 0; index < envelope.recipients.length; index++) {
    const rcpt = takeReply(exchange, 'rcpt') ?? (await readReply(exchange, 'rcpt', timeouts.commandMs))
    if (!isYes(rcpt, 'rcpt')) exchange.outcomes[index] ??= refusal(connection, 'rcpt', parseReply(rcpt.text))
  }
  const data = takeReply(exchange, 'data') ?? (await readReply(exchange, 'data', timeouts.dataMs))
  if (hasOpen(exchange)) return takeDataReply(exchange, data)
  if (data.code >= 400) return false
  // DATA was taken although nobody is left to receive: the empty message that RFC 2920 §3.1 asks for ends it.
  connection.write('.\r\n', 1)
  await readReply(exchange, 'content', timeouts.contentMs)
  connection.needsReset = false
  return false
}

/** One command at a time, for a server that wants it so. Answers whether it now waits for the content. */
async function offerStepwise(exchange: Exchange): Promise<boolean> {
  const { connection, envelope, timeouts } = exchange
  connection.write(mailCommand(connection, envelope), 1)
  const mail = await readReply(exchange, 'mail', timeouts.commandMs)
  if (!isYes(mail, 'mail')) {
    refuseOpen(exchange, mail, 'mail')
    return false
  }
  connection.needsReset = true
  for (const [index, recipient] of envelope.recipients.entries()) {
    connection.write(`RCPT TO:<${recipient}>\r\n`, 1)
    const rcpt = await readReply(exchange, 'rcpt', timeouts.commandMs)
    if (!isYes(rcpt, 'rcpt')) exchange.outcomes[index] = refusal(connection, 'rcpt', parseReply(rcpt.text))
  }
  if (!hasOpen(exchange)) return false
  connection.write('DATA\r\n', 1)
  return takeDataReply(exchange, await readReply(exchange, 'data', timeouts.dataMs))
}

function takeDataReply(exchange: Exchange, data: RawReply): boolean {
  if (data.code >= 400) refuseOpen(exchange, data, 'data')
  else if (data.code < 300) throw unexpected(data, 'data')
  return data.code < 400
}

/** Larger messages go in blocks, each with its own time, so that a slow line is not mistaken for a dead one. */
const BLOCK_BYTES = 262_144

async function sendContent(exchange: Exchange): Promise<void> {
  const { connection, envelope, timeouts } = exchange
  const { content } = wireForm(envelope.source)
  const end = endOfData(envelope.source)
  let isWhole = true
  if (content.length <= BLOCK_BYTES) connection.write(Buffer.concat([content, end]), 1)
  else isWhole = await sendBlocks(connection, [content, end], timeouts)
  connection.awaitsVerdict = isWhole
  const reply = await readReply(exchange, 'content', timeouts.contentMs)
  connection.awaitsVerdict = false
  connection.needsReset = false
  // What is left of the content would be read as commands.
  if (!isWhole) connection.destroy('answered before the message was complete')
  if (!isYes(reply, 'content')) return refuseOpen(exchange, reply, 'content')
  if (!isWhole) throw new Failure({ phase: 'content', reason: 'accepted the message before it was complete' })
  const { host, isTls: tls } = connection
  const delivered: Outcome = { kind: 'delivered', reply: parseReply(reply.text), host, tls }
  exchange.outcomes = exchange.outcomes.map(outcome => outcome ?? delivered)
}

/** Answers false when the server has answered in the middle, for it may refuse what it has seen enough of. */
async function sendBlocks(connection: Connection, [content, end]: [Buffer, Buffer], { blockMs }: Timeouts) {
  for (let start = 0; start < content.length; start += BLOCK_BYTES) {
    connection.write(content.subarray(start, start + BLOCK_BYTES), start === 0 ? 1 : 0)
    await connection.drained('content', blockMs)
    if (connection.hasReply) return false
  }
  connection.write(end, 0)
  return true
}

async function readReply(exchange: Exchange, phase: Phase, ms: number): Promise<RawReply> {
  const { connection, envelopeUntil } = exchange
  const left = phase === 'content' ? ms : Math.min(ms, Math.max(1, envelopeUntil - performance.now()))
  return noted(exchange, await connection.read(phase, left), phase)
}

/** Of replies that come together all but the first are here already: they are taken without a wait. */
function takeReply(exchange: Exchange, phase: Phase): RawReply | null {
  const reply = exchange.connection.take()
  return reply && noted(exchange, reply, phase)
}

function noted(exchange: Exchange, reply: RawReply, phase: Phase): RawReply {
  if (reply.code === 421) {
    exchange.goodbye = parseReply(reply.text)
    // Said to whatever came next after a long silence, not to this message.
    if (isUnproven(exchange)) throw new Failure({ phase, reason: formatReply(exchange.goodbye), isClosed: true })
  }
  exchange.isAnswered = true
  return reply
}

/** The connection was kept and has not yet shown that it still lives. */
const isUnproven = ({ connection, isAnswered }: Exchange): boolean => connection.isKept && !isAnswered

const isStale = (exchange: Exchange, failure: Failure): boolean => isUnproven(exchange) && failure.isClosed

function isYes(reply: RawReply, phase: Phase): boolean {
  if (reply.code >= 300 && reply.code < 400) throw unexpected(reply, phase)
  return reply.code < 300
}

const unexpected = (reply: RawReply, phase: Phase): Failure =>
  new Failure({ phase, reason: `answered ${formatReply(parseReply(reply.text))} unexpectedly` })

const hasOpen = ({ outcomes }: Exchange): boolean => outcomes.includes(null)

const refusal = ({ host }: Connection, phase: Phase, reply: SmtpReply): Outcome => ({
  kind: 'refused',
  reply,
  phase,
  host,
})

function refuseOpen(exchange: Exchange, reply: RawReply, phase: Phase): void {
  const isOfSeveral = phase !== 'mail' && exchange.outcomes.filter(outcome => outcome === null).length > 1
  const refused: Outcome = {
    ...refusal(exchange.connection, phase, parseReply(reply.text)),
    ...(isOfSeveral && { ofSeveral: true }),
  }
  exchange.outcomes = exchange.outcomes.map(outcome => outcome ?? refused)
}

/** The conversation broke. Recipients that have their answer keep it. */
function settleAll(exchange: Exchange, failure: Failure): void {
  const { connection, goodbye } = exchange
  // After a 421 the close is no fault but what was announced, unless the message may have been taken by then.
  const outcome =
    goodbye && failure.phase !== 'content'
      ? refusal(connection, failure.phase, goodbye)
      : outcomeOf(failure, connection.host)
  exchange.outcomes = exchange.outcomes.map(settled => settled ?? outcome)
}
