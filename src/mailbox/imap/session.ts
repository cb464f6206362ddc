// One IMAP connection to a provider, as a mirror uses it. The library answers some commands that failed with `false`; here
// every command that was not done throws, because an empty answer that is none would remove mail.
import type { FetchMessageObject, ImapFlow, ListResponse, StatusObject } from 'imapflow'
import type { MailServer } from '../../platform/config-providers.ts'
import type { Grant } from '../connections/tokens.ts'
import { faultOf, isRefusal, ProviderFault, TOO_SLOW, within } from './fault.ts'
import { headOf, type Head } from './head.ts'

/** Mail of more bytes is mirrored by its first lines only. */
export const SOURCE_BYTES_MAX = 40 * 1024 * 1024
/** Of such: enough for what lists show. */
const FIRST_BYTES = 64 * 1024
const CONNECT_MS_MAX = 20_000
/** A search in a mailbox of a million messages answers one line of eight. */
const LINE_BYTES_MAX = 16 * 1024 * 1024
const UIDS_PER_COMMAND = 500
/** Some tell the size of a message as it is stored, and not as it is sent. */
const INEXACT_BYTES = 64 * 1024

/** How long a provider is waited for. */
export interface Patience {
  /** While a command is under way. An IDLE is broken off sooner by the next round. */
  silenceMs: number
  /** A provider that sends byte by byte is as good as silent. */
  commandMs: number
}

const PATIENCE: Patience = { silenceMs: 90_000, commandMs: 300_000 }

export interface OpenMailbox {
  path: string
  uidValidity: number
  uidNext: number
  exists: number
}

interface MailboxEvents {
  /** New mail in the open mailbox. */
  arrived(): void
  /** Messages of it are gone, or their flags changed. */
  changed(): void
}

export class ImapSession {
  readonly #client: ImapFlow
  readonly #patience: Patience
  #lastFault: Error | null = null
  #failure: ProviderFault | null = null

  private constructor(Client: typeof ImapFlow, server: MailServer, grant: Grant, patience: Patience) {
    this.#patience = patience
    const note = ({ err }: { err?: Error }): void => {
      if (err) this.#lastFault = err
    }
    const nothing = (): void => {}
    this.#client = new Client({
      ...server,
      auth: { user: grant.address, accessToken: grant.accessToken },
      logger: { debug: nothing, info: nothing, warn: note, error: note },
      clientInfo: { name: 'Sluice' },
      // A compressor for each of hundreds of connections costs more memory than all else of them.
      disableCompression: true,
      disableAutoIdle: true,
      doSTARTTLS: server.secure ? undefined : false,
      connectionTimeout: CONNECT_MS_MAX,
      greetingTimeout: CONNECT_MS_MAX,
      socketTimeout: patience.silenceMs,
      maxLineLength: LINE_BYTES_MAX,
      maxLiteralSize: SOURCE_BYTES_MAX + LINE_BYTES_MAX,
      maxResponseSize: SOURCE_BYTES_MAX + 2 * LINE_BYTES_MAX,
    })
    // Without a listener an error would end the process; each command that it cuts throws by itself.
    this.#client.on('error', (err: Error) => (this.#failure ??= faultOf(err)))
  }

  /** Signed in. */
  static async connect(server: MailServer, grant: Grant, patience: Partial<Patience> = {}): Promise<ImapSession> {
    // Loaded with the first mirror: with what it needs it is a seventh of all modules, and many installations have none.
    const { ImapFlow: Client } = await import('imapflow').catch(failure => {
      throw faultOf(failure)
    })
    const session = new ImapSession(Client, server, grant, { ...PATIENCE, ...patience })
    try {
      await within(CONNECT_MS_MAX * 2, session.#client.connect())
      return session
    } catch (err) {
      session.close()
      throw faultOf(err)
    }
  }

  /** The flavour of Gmail: one message in several folders, which are labels. */
  get hasLabels(): boolean {
    return this.#client.capabilities.has('X-GM-EXT-1')
  }

  listen({ arrived, changed }: MailboxEvents): void {
    this.#client.on('exists', ({ count, prevCount }: { count: number; prevCount: number }) => {
      if (count > prevCount) arrived()
    })
    this.#client.on('expunge', changed)
    this.#client.on('flags', changed)
    this.#client.on('close', changed)
  }

  /** Throws what ended the connection. */
  throwIfOver(): void {
    if (this.#failure) throw this.#failure
    if (!this.#client.usable) throw new ProviderFault('failed', 'The provider closed the connection.')
  }

  list(): Promise<ListResponse[]> {
    return this.#done(this.#client.list())
  }

  async open(path: string): Promise<OpenMailbox> {
    const open = this.#client.mailbox
    const { uidValidity, uidNext, exists } =
      open && open.path === path ? open : await this.#done(this.#client.mailboxOpen(path))
    return { path, uidValidity: Number(uidValidity), uidNext, exists }
  }

  /** Null where the mailbox is gone. */
  async status(path: string): Promise<StatusObject | null> {
    const wanted = { messages: true, uidNext: true, uidValidity: true, unseen: true, highestModseq: true }
    const isOpen = this.#client.mailbox && this.#client.mailbox.path === path
    try {
      const status = await this.#done(this.#client.status(path, wanted))
      // It may count what commands in the open mailbox do not see yet; and what it counted, the library does not tell again.
      if (isOpen) await this.#noop()
      return status
    } catch (err) {
      if ((err as { cause?: { code?: string } }).cause?.code === 'NotFound') return null
      throw err
    }
  }

  /** Answers the path that it has. Null: the provider refuses it. */
  create(path: string): Promise<string | null> {
    return unlessRefused(async () => (await this.#done(this.#client.mailboxCreate(path))).path)
  }

  /** With what is below it. Answers the path that it has now. Null: the provider refuses it. */
  rename(path: string, to: string): Promise<string | null> {
    return unlessRefused(async () => (await this.#done(this.#client.mailboxRename(path, to))).newPath)
  }

  /** With what is in it. Null: the provider refuses it. */
  drop(path: string): Promise<string | null> {
    return unlessRefused(async () => (await this.#done(this.#client.mailboxDelete(path))).path)
  }

  /** UIDs of the open mailbox within the range, ascending. */
  search(range: string, { isUnseen = false } = {}): Promise<number[]> {
    return this.#done(this.#client.search(isUnseen ? { uid: range, seen: false } : { uid: range }, { uid: true }))
  }

  searchMessageId(messageId: string): Promise<number[]> {
    return this.#done(this.#client.search({ header: { 'message-id': messageId } }, { uid: true }))
  }

  /** Those that are gone by now are left out. */
  async heads(uids: readonly number[]): Promise<Head[]> {
    const query = { uid: true, flags: true, size: true, internalDate: true, headers: ['message-id'] }
    const found = new Map<number, Head>()
    for (const range of rangesOf(uids)) {
      for await (const message of this.#fetch(range, query)) found.set(message.uid, headOf(message))
    }
    return uids.flatMap(uid => found.get(uid) ?? [])
  }

  /** By UID; of a large one the first bytes. Those that are gone by now are left out. */
  async sources(heads: readonly Head[]): Promise<Map<number, Buffer>> {
    const found = new Map<number, Buffer>()
    const told = heads.reduce((sum, { size }) => sum + Math.min(size, SOURCE_BYTES_MAX), 0)
    let bytesLeft = 2 * told + heads.length * INEXACT_BYTES
    const isLarge = ({ size }: Head): boolean => size > SOURCE_BYTES_MAX
    for (const [source, part] of [
      [true, heads.filter(head => !isLarge(head))],
      [{ start: 0, maxLength: FIRST_BYTES }, heads.filter(isLarge)],
    ] as const) {
      for (const range of rangesOf(part.map(({ uid }) => uid))) {
        for await (const message of this.#fetch(range, { uid: true, source })) {
          if (!message.source) continue
          found.set(message.uid, message.source)
          bytesLeft -= message.source.length
          if (bytesLeft < 0) throw new ProviderFault('failed', 'The provider sends more than it says that there is.')
        }
      }
    }
    return found
  }

  async markSeen(uids: readonly number[], isSeen: boolean): Promise<void> {
    for (const range of rangesOf(uids)) {
      const flags = ['\\Seen']
      const options = { uid: true, silent: true }
      await this.#done(
        isSeen
          ? this.#client.messageFlagsAdd(range, flags, options)
          : this.#client.messageFlagsRemove(range, flags, options),
      )
    }
  }

  /** New UIDs by old ones, as far as the provider tells them, and the UIDVALIDITY that they are of. */
  async move(uids: readonly number[], path: string) {
    const moved = new Map<number, number>()
    let validity: number | null = null
    for (const range of rangesOf(uids)) {
      const { uidMap, uidValidity } = await this.#done(this.#client.messageMove(range, path, { uid: true }))
      for (const [from, to] of uidMap ?? []) moved.set(from, to)
      if (uidValidity !== undefined) validity = Number(uidValidity)
    }
    return { uids: moved, uidValidity: validity }
  }

  /** For good. Without UIDPLUS an expunge would take what others have marked, so the mark must do. */
  async remove(uids: readonly number[]): Promise<void> {
    const canExpunge = this.#client.capabilities.has('UIDPLUS')
    for (const range of rangesOf(uids)) {
      await this.#done(
        canExpunge
          ? this.#client.messageDelete(range, { uid: true })
          : this.#client.messageFlagsAdd(range, ['\\Deleted'], { uid: true }),
      )
    }
  }

  /**
   * Until the next command, which ends it. What came before it began is asked for first: some servers tell of nothing older
   * than the wait.
   */
  async idle(): Promise<void> {
    await this.#noop()
    this.#client.idle().catch((err: unknown) => (this.#failure ??= faultOf(err)))
  }

  close(): void {
    this.#client.close()
  }

  async #noop(): Promise<void> {
    await within(this.#patience.commandMs, this.#client.noop()).catch((err: unknown) => {
      throw err instanceof ProviderFault ? err : faultOf(err)
    })
  }

  async *#fetch(range: string, query: object): AsyncGenerator<FetchMessageObject> {
    const timer = setTimeout(() => {
      this.#failure ??= new ProviderFault('failed', TOO_SLOW)
      this.close()
    }, this.#patience.commandMs)
    try {
      for await (const message of this.#client.fetch(range, query, { uid: true })) yield message
    } catch (err) {
      throw this.#failure ?? faultOf(err)
    } finally {
      clearTimeout(timer)
    }
    this.throwIfOver()
  }

  async #done<T>(command: Promise<T>): Promise<Exclude<T, false | undefined | void>> {
    this.#lastFault = null
    try {
      const answer = await within(this.#patience.commandMs, command)
      if (answer !== false && answer !== undefined) return answer as Exclude<T, false | undefined | void>
    } catch (err) {
      throw err instanceof ProviderFault ? err : faultOf(err)
    }
    this.throwIfOver()
    throw faultOf(this.#lastFault ?? new Error('The provider did not do what it was asked for.'))
  }
}

async function unlessRefused(act: () => Promise<string>): Promise<string | null> {
  try {
    return await act()
  } catch (err) {
    if (isRefusal(err)) return null
    throw err
  }
}

/** In sets that no server finds too long. */
export function* rangesOf(uids: readonly number[]): Generator<string> {
  for (let at = 0; at < uids.length; at += UIDS_PER_COMMAND) yield uids.slice(at, at + UIDS_PER_COMMAND).join(',')
}
