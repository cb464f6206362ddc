// A mailbox provider for tests: a small IMAP server over a real socket that tests change behind the mirror's back, and that
// can be made to fail at any command.
import {
  finish,
  unquoted,
  uidsIn,
  matching,
  fetched,
  type FakeMailbox,
  type FakeMessage,
} from './imap-answers.fixture.ts'
import { drip, mailboxCommands } from './imap-mailboxes.fixture.ts'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'

/** What is sent instead of the answer; `close` cuts the connection after it. Null: the usual answer. */
export type Meddle = (command: string, tag: string) => { say: string; close?: boolean } | null

interface Session {
  socket: Socket
  selected: FakeMailbox | null
  /** How many messages the client knows of in it. */
  known: FakeMessage[]
  idleTag: string | null
  isSignedIn: boolean
}

const CAPABILITIES = 'IMAP4rev1 SASL-IR AUTH=XOAUTH2 IDLE SPECIAL-USE ID NAMESPACE'

export class FakeImap {
  readonly mailboxes = new Map<string, FakeMailbox>()
  readonly tokens = new Set(['token'])
  capabilities = `${CAPABILITIES} UIDPLUS MOVE`
  greeting = `* OK [CAPABILITY ${CAPABILITIES}] ready\r\n`
  meddle: Meddle = () => null
  /** Answers to this command come a byte at a time, until it is null. */
  drip: { command: string; everyMs: number } | null = null
  /** What is new is seen and told of only after NOOP, IDLE and SELECT, though STATUS counts it: Dovecot does so at times. */
  isLazy = false
  /** Every command, without its tag. */
  readonly said: string[] = []
  #uidValidity = 7
  readonly #server: Server
  readonly #sessions = new Set<Session>()

  private constructor() {
    this.#server = createServer(socket => this.#serve(socket))
    for (const [path, ...flags] of [
      ['INBOX'],
      ['Sent', '\\Sent'],
      ['Archive', '\\Archive'],
      ['Junk', '\\Junk'],
      ['Trash', '\\Trash'],
      ['Drafts', '\\Drafts'],
    ] as const) {
      this.addMailbox(path, ...flags)
    }
  }

  static async start(): Promise<FakeImap> {
    const fake = new FakeImap()
    fake.#server.listen(0, '127.0.0.1')
    await once(fake.#server, 'listening')
    return fake
  }

  get server(): { host: string; port: number; secure: boolean } {
    return { host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port, secure: false }
  }

  get connections(): number {
    return this.#sessions.size
  }

  addMailbox(path: string, ...flags: string[]): void {
    this.mailboxes.set(path, { path, flags, uidValidity: this.#uidValidity++, uidNext: 1, messages: [] })
  }

  /** With what is below it, as a person does in another program. */
  rename(path: string, to: string): void {
    for (const mailbox of Array.from(this.mailboxes.values())) {
      if (mailbox.path !== path && !mailbox.path.startsWith(`${path}/`)) continue
      this.mailboxes.delete(mailbox.path)
      mailbox.path = to + mailbox.path.slice(path.length)
      this.mailboxes.set(mailbox.path, mailbox)
    }
  }

  in(path: string): FakeMailbox {
    return this.mailboxes.get(path)!
  }

  /** Answers its UID. Sessions that wait in the mailbox are told. */
  deliver(
    path: string,
    source: string,
    { flags = [] as string[], at = new Date(), size = Buffer.byteLength(source) } = {},
  ): number {
    const mailbox = this.in(path)
    const uid = mailbox.uidNext++
    mailbox.messages.push({ uid, flags: new Set(flags), internalDate: at, source: Buffer.from(source), size })
    this.tell()
    return uid
  }

  remove(path: string, uid: number): FakeMessage {
    const mailbox = this.in(path)
    const at = mailbox.messages.findIndex(message => message.uid === uid)
    const [message] = mailbox.messages.splice(at, 1)
    this.tell()
    return message!
  }

  move(from: string, uid: number, to: string): number {
    const message = this.remove(from, uid)
    const target = this.in(to)
    target.messages.push({ ...message, uid: target.uidNext })
    return target.uidNext++
  }

  flag(path: string, uid: number, flag: string, isSet: boolean): void {
    const message = this.in(path).messages.find(each => each.uid === uid)!
    if (isSet) message.flags.add(flag)
    else message.flags.delete(flag)
    for (const session of this.#sessions) {
      if (!session.idleTag || session.selected?.path !== path) continue
      session.socket.write(
        `* ${session.known.indexOf(message) + 1} FETCH (FLAGS (${[...message.flags].join(' ')}))\r\n`,
      )
    }
  }

  /** Under new numbers, as after a restore. */
  renumber(path: string): void {
    const mailbox = this.in(path)
    mailbox.uidValidity += 1
    mailbox.messages.forEach((message, at) => (message.uid = 1000 + at))
    mailbox.uidNext = 1000 + mailbox.messages.length
    this.disconnect()
  }

  disconnect(): void {
    for (const { socket } of this.#sessions) socket.destroy()
  }

  async close(): Promise<void> {
    this.disconnect()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** Sessions in IDLE hear of what changed in their mailbox. */
  tell(): void {
    for (const session of this.#sessions) if (session.idleTag) session.socket.write(this.#news(session))
  }

  #news(session: Session): string {
    const { selected, known } = session
    if (!selected) return ''
    let news = ''
    for (let at = known.length - 1; at >= 0; at--) {
      if (selected.messages.includes(known[at]!)) continue
      known.splice(at, 1)
      news += `* ${at + 1} EXPUNGE\r\n`
    }
    if (selected.messages.length > known.length) {
      session.known = [...selected.messages]
      news += `* ${session.known.length} EXISTS\r\n`
    }
    return news
  }

  #serve(socket: Socket): void {
    const session: Session = { socket, selected: null, known: [], idleTag: null, isSignedIn: false }
    this.#sessions.add(session)
    socket.on('close', () => this.#sessions.delete(session))
    socket.on('error', () => {})
    socket.write(this.greeting)
    let text = ''
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf('\r\n'); end !== -1; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end)
        text = text.slice(end + 2)
        this.#answer(session, line)
      }
    })
  }

  #answer(session: Session, line: string): void {
    const { socket } = session
    if (session.idleTag && line.toUpperCase() === 'DONE') {
      socket.write(`${this.#news(session)}${session.idleTag} OK idle\r\n`)
      session.idleTag = null
      return
    }
    const [tag, command] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]
    this.said.push(command)
    const meddled = this.meddle(command, tag)
    if (meddled) {
      socket.write(meddled.say)
      if (meddled.close) socket.destroy()
      return
    }
    const name = command
      .split(' ', command.toUpperCase().startsWith('UID ') ? 2 : 1)
      .join(' ')
      .toUpperCase()
    const reply = this.#commands[name]?.(session, command.slice(name.length + 1), tag)
    if (reply === undefined) socket.write(`${tag} BAD unknown\r\n`)
    else if (reply !== null) {
      const hasNews = !reply.startsWith('!') && (!this.isLazy || name === 'NOOP')
      const answer = `${hasNews ? this.#news(session) : ''}${finish(reply, tag)}`
      if (this.drip && name === this.drip.command) void drip(socket, answer, () => this.drip?.everyMs)
      else socket.write(answer)
    }
  }

  /** Each answers untagged lines; what begins with `!` is a refusal. Null: the command is not over. */
  readonly #commands: Record<string, (session: Session, rest: string, tag: string) => string | null> = {
    ...mailboxCommands(this),
    CAPABILITY: () => `* CAPABILITY ${this.capabilities}\r\n`,
    ID: () => '* ID NIL\r\n',
    NOOP: () => '',
    CLOSE: session => {
      session.selected = null
      return ''
    },
    NAMESPACE: () => '* NAMESPACE (("" "/")) NIL NIL\r\n',
    LOGOUT: session => {
      session.socket.end('* BYE\r\n')
      return null
    },
    AUTHENTICATE: (_session, rest) => {
      const token = /auth=Bearer (\S+?)\p{Cc}/u.exec(Buffer.from(rest.split(' ')[1] ?? '', 'base64').toString())?.[1]
      return this.tokens.has(token ?? '') ? '' : '!NO [AUTHENTICATIONFAILED] Invalid credentials'
    },
    SELECT: (session, rest) => {
      const mailbox = this.mailboxes.get(unquoted(rest))
      if (!mailbox) return '!NO [NONEXISTENT] no such mailbox'
      session.selected = mailbox
      session.known = [...mailbox.messages]
      const { messages, uidNext, uidValidity } = mailbox
      return `* ${messages.length} EXISTS\r\n* FLAGS (\\Seen \\Deleted)\r\n* OK [PERMANENTFLAGS (\\Seen \\Deleted \\*)] ok\r\n* OK [UIDVALIDITY ${uidValidity}] ok\r\n* OK [UIDNEXT ${uidNext}] ok\r\n`
    },
    IDLE: (session, _rest, tag) => {
      session.idleTag = tag
      session.socket.write(`+ idling\r\n${this.#news(session)}`)
      return null
    },
    'UID SEARCH': (session, rest) => {
      const all = this.isLazy ? session.known : session.selected!.messages
      const found = all.filter(matching(rest, all))
      return `* SEARCH${found.map(({ uid }) => ` ${uid}`).join('')}\r\n`
    },
    'UID FETCH': (session, rest) => {
      const set = rest.slice(0, rest.indexOf(' '))
      const all = session.selected!.messages
      const isWanted = uidsIn(set, all)
      return all.map((message, n) => (isWanted(message.uid) ? fetched(message, n + 1, rest) : '')).join('')
    },
    'UID STORE': (session, rest) => {
      const [set, operation] = rest.split(' ')
      const isWanted = uidsIn(set!, session.selected!.messages)
      for (const message of session.selected!.messages) {
        if (!isWanted(message.uid)) continue
        for (const flag of /\(([^)]*)\)/.exec(rest)![1]!.split(' ')) {
          if (operation!.startsWith('+')) message.flags.add(flag)
          else message.flags.delete(flag)
        }
      }
      return ''
    },
    'UID MOVE': (session, rest) => {
      const set = rest.slice(0, rest.indexOf(' '))
      const [path, from] = [unquoted(rest.slice(set.length + 1)), session.selected!]
      const uids = from.messages.map(({ uid }) => uid).filter(uidsIn(set, from.messages))
      const moved = uids.map(uid => this.move(from.path, uid, path))
      const code =
        uids.length > 0
          ? `* OK [COPYUID ${this.in(path).uidValidity} ${uids.join(',')} ${moved.join(',')}] moved\r\n`
          : ''
      return this.capabilities.includes('UIDPLUS') ? code : ''
    },
    'UID EXPUNGE': (session, rest) => {
      const from = session.selected!
      const isWanted = uidsIn(rest, from.messages)
      for (const { uid, flags } of from.messages.slice()) {
        if (isWanted(uid) && flags.has('\\Deleted')) this.remove(from.path, uid)
      }
      return ''
    },
  }
}
