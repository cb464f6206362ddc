// What an SMTP client may say and what it is answered (RFC 5321), without any socket: a line comes in, an answer goes out.
// One transaction is one message; whatever ends a transaction leaves nothing of it behind.

import { parseCommand, parseMail, parseRcpt } from './command.ts'
import type { DataOutcome } from './data.ts'
import type { Admission, SmtpClient, SmtpDoor } from './door.ts'
import { beginLogin, type LoginStep } from './login.ts'

/** A reply, and what happens once it is out. */
export interface Answer {
  /** Without its last line break. */
  reply: string
  next?: 'data' | 'starttls' | 'close'
}

interface Transaction<Recipient> {
  from: string
  smtputf8: boolean
  recipients: Recipient[]
}

/** Since the last message that was taken: a list that was not looked after for long has a few dozen. */
const REFUSED_RECIPIENTS_MAX = 100
/** Beyond what a transaction takes: a client that pipelines a long list learns of the bound when it has said all of it. */
const EXCESS_RECIPIENTS_MAX = 1_000
const BAD_COMMANDS_MAX = 5
/** Commands in a row that lead to no message; Postfix takes as many (smtpd_junk_command_limit). */
const JUNK_COMMANDS_MAX = 100
const LOGIN_FAILURES_MAX = 3
const LINE_BYTES_MAX = 512 // with CRLF, RFC 5321 §4.5.3.1.4
export const LONG_LINE_BYTES_MAX = 2_048 // where a password or an address in UTF-8 may stand

export class SmtpConversation<Login, Recipient> {
  readonly #door: SmtpDoor<Login, Recipient>
  readonly #client: SmtpClient
  #login: Login | null = null
  #transaction: Transaction<Recipient> | null = null
  #askedForLogin: ((line: string) => LoginStep) | null = null
  #badCommands = 0
  #junkCommands = 0
  #refusedRecipients = 0
  #excessRecipients = 0
  #loginFailures = 0
  /** When a message last ended, or the connection began, on the monotonic clock. */
  #lastMessageAt = performance.now()
  /** When the first transaction since then was opened. */
  #beganAt: number | null = null

  constructor(door: SmtpDoor<Login, Recipient>, client: SmtpClient) {
    this.#door = door
    this.#client = client
  }

  /** Whether the client is between two messages. */
  get isIdle(): boolean {
    return this.#transaction === null && this.#askedForLogin === null
  }

  /** Since when the client owes a message. Neither recipients nor commands that lead to none move it. */
  get owesMessageSince(): number {
    return this.#beganAt ?? this.#lastMessageAt
  }

  greeting(): string {
    return `220 ${this.#door.host} ESMTP`
  }

  /** RFC 3207 §4.2: after the handshake both sides begin anew, and nothing that was said in the clear counts. */
  forget(): void {
    this.#client.helo = ''
    this.#login = null
    this.#transaction = null
  }

  /** A whole line without its CRLF; null when it is no text. `bytes` is its length as it came, line break included. */
  hear(line: string | null, bytes: number): Answer | Promise<Answer> {
    if (line === null) return this.#bad('500 5.5.2 Commands are printable text in UTF-8')
    if (this.#askedForLogin) return this.#takeStep(this.#askedForLogin(line))
    const { verb, argument } = parseCommand(line)
    const mayBeLong = verb === 'AUTH' || this.#transaction?.smtputf8 || / SMTPUTF8\b/i.test(argument)
    if (bytes > LINE_BYTES_MAX && !mayBeLong) return this.#bad('500 5.5.2 The line is too long')
    switch (verb) {
      case 'EHLO':
      case 'HELO':
        return this.#hello(verb, argument)
      case 'STARTTLS':
        return this.#startTls(argument)
      case 'AUTH':
        return this.#auth(argument)
      case 'MAIL':
        return this.#mail(argument)
      case 'RCPT':
        return this.#rcpt(argument)
      case 'DATA':
        return this.#data(argument)
      case 'RSET':
        this.#transaction = null
        return this.#junk('250 2.0.0 Forgotten')
      case 'NOOP':
        return this.#junk('250 2.0.0 Ok')
      case 'VRFY':
        // RFC 5321 §3.5.3: whether an address exists is nobody's business.
        return this.#junk('252 2.1.5 Send some mail and see')
      case 'QUIT':
        return { reply: '221 2.0.0 Bye', next: 'close' }
      case 'BDAT':
        // Not offered. What follows is a message, and must not be taken for commands.
        return { reply: '502 5.5.1 BDAT is not offered', next: 'close' }
      default:
        return this.#bad('502 5.5.1 No such command')
    }
  }

  /** The answer to something that breaks the protocol. After a few of these nobody sensible is at the other end. */
  #bad(reply: string): Answer {
    this.#badCommands += 1
    if (this.#badCommands < BAD_COMMANDS_MAX) return { reply }
    return { reply: `${reply}\r\n421 4.7.0 Too many bad commands`, next: 'close' }
  }

  /** The answer to a command that brings no message nearer: a client that says nothing else only keeps its connection. */
  #junk(reply: string): Answer {
    this.#junkCommands += 1
    if (this.#junkCommands <= JUNK_COMMANDS_MAX) return { reply }
    return { reply: '421 4.7.0 Too many commands without a message', next: 'close' }
  }

  /** Ends the transaction with the message, or with why there is none. */
  async deliver(outcome: DataOutcome): Promise<Answer> {
    const transaction = this.#transaction!
    try {
      if (outcome.kind === 'malformed') return { reply: '550 5.6.0 The message contains a bare CR, a bare LF or a NUL' }
      if (outcome.kind === 'too_large') return { reply: tooLarge(this.#door) }
      const { takeSource } = outcome
      const reply = await this.#door.receive({ client: this.#client, login: this.#login, ...transaction, takeSource })
      if (reply.startsWith('2')) {
        this.#badCommands = 0
        this.#junkCommands = 0
        this.#refusedRecipients = 0
        this.#excessRecipients = 0
      }
      // RFC 5321 §3.8: after 421 the server closes.
      return reply.startsWith('421') ? { reply, next: 'close' } : { reply }
    } catch (error) {
      return this.#fault(error)
    } finally {
      this.#transaction = null
      this.#lastMessageAt = performance.now()
      this.#beganAt = null
    }
  }

  #hello(verb: 'EHLO' | 'HELO', argument: string): Answer {
    if (!/^[!-~]{1,255}$/.test(argument)) return this.#bad(`501 5.5.4 Syntax: ${verb} name`)
    this.#client.helo = argument
    this.#transaction = null
    if (verb === 'HELO') return this.#junk(`250 ${this.#door.host}`)
    const lines = [
      `${this.#door.host} greets you`,
      'PIPELINING',
      `SIZE ${this.#door.sizeMax}`,
      '8BITMIME',
      'SMTPUTF8',
      'ENHANCEDSTATUSCODES',
      ...(this.#client.isSecure ? [] : ['STARTTLS']),
      ...(this.#door.authenticate && this.#mayLogIn ? ['AUTH PLAIN LOGIN'] : []),
    ]
    return this.#junk(lines.map((line, index) => `250${index < lines.length - 1 ? '-' : ' '}${line}`).join('\r\n'))
  }

  get #mayLogIn(): boolean {
    return this.#client.isSecure || this.#door.trustsClearText(this.#client.ip)
  }

  #startTls(argument: string): Answer {
    if (argument !== '') return this.#bad('501 5.5.4 STARTTLS takes no argument')
    if (this.#client.isSecure) return this.#bad('503 5.5.1 TLS is already on')
    if (this.#transaction) return this.#bad('503 5.5.1 Not during a transaction')
    return { reply: '220 2.0.0 Go ahead', next: 'starttls' }
  }

  #auth(argument: string): Answer | Promise<Answer> {
    if (!this.#door.authenticate) return this.#bad('502 5.5.1 AUTH is not offered')
    if (this.#client.helo === '' || this.#login !== null || this.#transaction) {
      return this.#bad('503 5.5.1 AUTH comes once, after EHLO and before MAIL')
    }
    if (!this.#mayLogIn) return this.#bad('538 5.7.11 Say STARTTLS first')
    return this.#takeStep(beginLogin(argument))
  }

  #takeStep(step: LoginStep): Answer | Promise<Answer> {
    this.#askedForLogin = step.kind === 'ask' ? step.next : null
    if (step.kind === 'ask') return { reply: step.reply }
    if (step.kind === 'refused') return this.#bad(step.reply)
    return this.#door.authenticate!(step.attempt, this.#client)
      .catch(error => this.#fault(error).reply)
      .then(result => {
        if (typeof result === 'string') return this.#loginFailed(result)
        this.#login = result.login
        return { reply: '235 2.7.0 Welcome' }
      })
  }

  #loginFailed(reply: string): Answer {
    // RFC 5321 §3.8: after 421 the server closes.
    if (reply.startsWith('421')) return { reply, next: 'close' }
    this.#loginFailures += 1
    if (this.#loginFailures < LOGIN_FAILURES_MAX) return { reply }
    return { reply: `${reply}\r\n421 4.7.0 Too many failed logins`, next: 'close' }
  }

  #mail(argument: string): Answer {
    if (this.#client.helo === '') return this.#bad('503 5.5.1 Say EHLO first')
    if (this.#door.authenticate && this.#login === null) return this.#bad('530 5.7.0 Log in first')
    if (this.#transaction) return this.#bad('503 5.5.1 A transaction is already open')
    const mail = parseMail(argument)
    if (mail.kind === 'refused') return this.#bad(mail.reply)
    const { path, size, smtputf8 } = mail.value
    if (size !== null && size > this.#door.sizeMax) return this.#junk(tooLarge(this.#door))
    const refusal = this.#door.mayBegin?.(this.#client) ?? null
    if (refusal) return this.#junk(refusal)
    this.#transaction = { from: path, smtputf8, recipients: [] }
    this.#beganAt ??= performance.now()
    return { reply: '250 2.1.0 Ok' }
  }

  #rcpt(argument: string): Answer | Promise<Answer> {
    const transaction = this.#transaction
    if (!transaction) return this.#bad('503 5.5.1 Say MAIL first')
    const rcpt = parseRcpt(argument, transaction)
    if (rcpt.kind === 'refused') return this.#bad(rcpt.reply)
    if (transaction.recipients.length >= this.#door.recipientsMax) return this.#excessRecipient()
    const take = (admission: Admission<Recipient>): Answer => {
      if (admission.kind === 'refused') return this.#refusedRecipient(admission.reply)
      transaction.recipients.push(admission.recipient)
      return { reply: '250 2.1.5 Ok' }
    }
    const admission = this.#door.admit(rcpt.value, this.#client)
    if (!(admission instanceof Promise)) return take(admission)
    return admission.then(take).catch(error => this.#fault(error))
  }

  /** Each costs a look-up. Who names so many that are not here guesses, and finds out no more over this connection. */
  #refusedRecipient(reply: string): Answer {
    this.#refusedRecipients += 1
    if (this.#refusedRecipients < REFUSED_RECIPIENTS_MAX) return { reply }
    return { reply: `${reply}\r\n421 4.7.0 Too many refused recipients`, next: 'close' }
  }

  #excessRecipient(): Answer {
    this.#excessRecipients += 1
    const reply = '452 4.5.3 Too many recipients; send the rest in another transaction'
    if (this.#excessRecipients < EXCESS_RECIPIENTS_MAX) return { reply }
    return { reply: `${reply}\r\n421 4.7.0 Far too many recipients`, next: 'close' }
  }

  #data(argument: string): Answer {
    if (argument !== '') return this.#bad('501 5.5.4 DATA takes no argument')
    if (!this.#transaction) return this.#bad('503 5.5.1 Say MAIL first')
    // Not a bad command: with PIPELINING it is on its way before the client knows that all recipients were refused.
    if (this.#transaction.recipients.length === 0) return this.#junk('554 5.5.1 No valid recipients')
    return { reply: '354 End with a dot on a line of its own', next: 'data' }
  }

  #fault(error: unknown): Answer {
    this.#door.onFault(error, this.#client)
    return { reply: '451 4.3.0 Something went wrong here; try again later' }
  }
}

const tooLarge = ({ sizeMax }: { sizeMax: number }): string => `552 5.3.4 A message may have ${sizeMax} bytes`
