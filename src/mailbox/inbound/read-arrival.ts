// Reads a mail that came in: who sent it, as far as DNS can say, and what is in it, as far as a thread can read it.
import { ownZone, type OwnZone } from '../../identity/domains/own-zone.ts'
import { authenticate, type Authentication } from '../../mail/authentication/authenticate.ts'
import { mailboxText } from '../../mail/address/mailbox-text.ts'
import { ofAuthor } from '../../mail/authentication/of-author.ts'
import { RecentSpf } from '../../mail/authentication/recent-spf.ts'
import type { Resolve } from '../../mail/authentication/resolve.ts'
import { authenticationResults } from '../../mail/authentication/results-field.ts'
import { readFields, displayValue, valueOf } from '../../mail/mime/headers.ts'
import { parseMailboxes } from '../../mail/mime/mailbox-list.ts'
import type { Refused, RefusedReason } from '../../mail/mime/parsed-mail.ts'
import { system } from '../../platform/db/actor.ts'
import { isUnavailable } from '../../platform/db/errors.ts'
import { newIdAt } from '../../platform/ids.ts'
import type { World } from '../../platform/world.ts'
import { insertAttachments, type AttachmentRow } from '../attachments/store.ts'
import { wordsOf } from '../search/words.ts'
import { storeTextsAhead, type SourceText } from '../sources/store.ts'
import type { ReadArrival } from './file.ts'
import { mailDns } from './mail-dns.ts'
import { MimeReader } from './mime-reader.ts'
import type { ReadMessage } from './mime-thread.ts'
import { findSourcePart, type Arrival } from './queries.ts'
import type { Source } from './recent-sources.ts'

/** Larger ones are read one at a time, and what was read in them is stored before they are filed. */
export const SMALL_BYTES = 256 * 1024
const PART_BYTES = 1024 * 1024
/** Attachments of a large mail are stored so many bytes to a transaction: others commit in between. */
const STORED_BYTES = 2 * 1024 * 1024
/** Arrivals are bounded by what the worker has in flight: each of those may wait for a thread. */
const WAITING_MAX = 1_000
/** Workers that died with it: from then on it is filed without being read. */
const CRASHES_MAX = 3

/** Without a resolver no mail waits for long: it is asked once more, and the mail filed as what nobody could prove. */
const SILENT_RETRY_MS = 3_000
const SILENT_TIMEOUT_MS = 3_000

type Reading = { kind: 'read'; read: ReadArrival } | { kind: 'retry'; reason: string; delayMs?: number }

export class ArrivalReader {
  readonly #world: World
  readonly #mime: MimeReader
  readonly #zone: OwnZone
  readonly #recentSpf = new RecentSpf()

  constructor(world: World) {
    this.#world = world
    this.#mime = new MimeReader(world.threads, { queueMax: WAITING_MAX })
    this.#zone = ownZone(world)
  }

  /** With so many retries at most, of which it says when one is worth while. */
  async read(arrival: Arrival, source: Source, retriesMax: number): Promise<Reading> {
    return this.#orFirstLines({ arrival, source, retriesMax }, () => this.#read(arrival, source, retriesMax))
  }

  /** The source is fetched in parts, and what was read is stored right away: filing it then costs as little as a small one. */
  async readLarge(arrival: Arrival, retriesMax: number): Promise<Reading> {
    const source = await fetchSource(this.#world, arrival)
    return this.#orFirstLines({ arrival, source, retriesMax }, async () => {
      const reading = await this.#read(arrival, source, retriesMax)
      if (reading.kind !== 'read' || reading.read.texts === null) return reading
      await this.#store(reading.read.texts)
      return { kind: 'read', read: { ...reading.read, texts: null } }
    })
  }

  /** A fault of ours that the last attempt meets again is there to stay: the mail is filed without being read. */
  async #orFirstLines(
    { arrival, source, retriesMax }: { arrival: Arrival; source: Source; retriesMax: number },
    attempt: () => Promise<Reading>,
  ): Promise<Reading> {
    try {
      return await attempt()
    } catch (err) {
      if (arrival.attempts <= retriesMax || isUnavailable(err)) throw err
      this.#world.log.error({ err, arrival: arrival.id }, 'a mail that came in is filed without being read')
      const auth = await this.#authenticate(arrival, source).catch(unchecked)
      return this.#readingOf(arrival, { auth, message: unread('crashed'), source })
    }
  }

  async #read(arrival: Arrival, source: Source, retriesMax: number): Promise<Reading> {
    // What comes from here is not asked about twice: DNS may know nothing of a sandbox.
    const isLast = arrival.attempts > retriesMax || arrival.submitted_id !== null
    const [auth, message] = await Promise.all([
      this.#authenticate(arrival, source),
      arrival.crashes >= CRASHES_MAX ? unread('crashed') : this.#mime.readMessage(source.content, arrival.account_id),
    ])
    if (!isLast && isTemporary(auth)) {
      if (!this.#world.dns.isSilent) return { kind: 'retry', reason: 'dns' }
      if (arrival.attempts === 1) return { kind: 'retry', reason: 'dns', delayMs: SILENT_RETRY_MS }
    }
    if (!isLast && message.kind === 'refused' && isOurs(message.reason) && arrival.crashes < CRASHES_MAX) {
      return { kind: 'retry', reason: message.reason }
    }
    return this.#readingOf(arrival, { auth, message, source })
  }

  #readingOf(arrival: Arrival, understood: Omit<Understood, 'results'>): Reading {
    const results = (proven: Authentication): string => authenticationResults(this.#world.config.MX_HOST, proven)
    return { kind: 'read', read: readOf(arrival, { ...understood, results }) }
  }

  async #authenticate(arrival: Arrival, { content, headBytes }: Source): Promise<Authentication> {
    const { config, clock, dns, slices } = this.#world
    const { spf, keys, dmarc } = mailDns(dns, dns.isSilent ? { timeoutMs: SILENT_TIMEOUT_MS } : {})
    const zone = this.#zone
    const envelope = { ip: arrival.client_ip, helo: arrival.helo, mailFrom: arrival.mail_from }
    return authenticate(content.subarray(headBytes), envelope, {
      resolvers: { spf: zoneFirst(zone, spf), keys: zoneFirst(zone, keys), dmarc: zoneFirst(zone, dmarc) },
      hostname: config.MX_HOST,
      now: clock.now(),
      receivedAt: arrival.received_at,
      recentSpf: this.#recentSpf,
      inSlices: work => slices.run(work, [arrival.account_id]),
    })
  }

  /** Texts come last: they say that the attachments are there. */
  async #store(texts: SourceText): Promise<void> {
    const by = system('filing')
    for (const slice of slicesOf(texts.attachments)) {
      await this.#world.db.transact(by, tx => insertAttachments(tx, texts, slice))
    }
    await this.#world.db.transact(by, tx => storeTextsAhead(tx, { ...texts, attachments: [] }))
  }
}

/**
 * Of a mail whose authentication throws. No failure of DNS, which may pass: with `temperror` a sender who finds such a fault
 * would get past `block_unauthenticated`.
 */
function unchecked(error: unknown): Authentication {
  if (isUnavailable(error)) throw error
  return {
    spf: { result: 'permerror', domain: null, aligned: false },
    dkim: { result: 'permerror', signatures: [] },
    dmarc: { result: 'permerror', policy: null, domain: null },
    arc: { result: 'fail' },
  }
}

type Read = Pick<Arrival, 'source_id' | 'account_id' | 'received_at'>

interface Understood {
  auth: Authentication
  /** The field that is shown above the source, of what is proven about the author whom readers see. */
  results: (proven: Authentication) => string
  message: ReadMessage | Refused
  source: Source
}

/** What is filed of a mail: what was read in it, or the little that its first lines say. */
export function readOf(arrival: Read, { auth, results, message, source }: Understood): ReadArrival {
  const notes = message.kind === 'refused' ? [NOTES[message.reason]] : message.mail.notes
  const mail = message.kind === 'refused' ? firstLines(source, notes) : message.mail
  const proven = ofAuthor(auth, mail.from)
  const attachments = message.kind === 'refused' ? [] : attachmentRows(arrival, message.mail)
  const texts: SourceText = {
    sourceId: arrival.source_id,
    accountId: arrival.account_id,
    authenticationResults: results(proven),
    text: mail.text,
    html: mail.html,
    htmlText: message.kind === 'refused' ? '' : besideText(message.mail),
    extractedText: mail.extractedText,
    notes,
    attachments,
  }
  return {
    auth: proven,
    mail,
    texts,
    hasAttachments: message.kind === 'message' && message.mail.hasAttachments,
    hasFiles: attachments.length > 0,
    findings:
      message.kind === 'refused' ? [{ kind: 'unreadable', where: 'text', detail: notes[0]! }] : message.findings,
    words: message.kind === 'refused' ? wordsOfFirstLines(mail) : message.words,
  }
}

/** All that an agent could read in the HTML and not in the text. */
const besideText = ({ htmlText, hiddenText }: ReadMessage['mail']): string =>
  [htmlText, hiddenText].filter(each => each !== '').join('\n')

const attachmentRows = ({ received_at }: Read, { attachments }: ReadMessage['mail']): AttachmentRow[] =>
  attachments.map(({ inline, declaredName: _, ...rest }, n) => ({
    id: newIdAt(received_at),
    n,
    isInline: inline,
    ...rest,
  }))

/** What the installation publishes itself is known without asking. */
const zoneFirst =
  (zone: OwnZone, resolve: Resolve): Resolve =>
  async (name, type) => {
    const texts = type === 'TXT' ? await zone.texts(name) : null
    return texts ? { kind: 'found', values: texts } : resolve(name, type)
  }

const unread = (reason: RefusedReason): Refused => ({ kind: 'refused', reason })

/** Worth another try: the mail is not to blame. */
export const isOurs = (reason: RefusedReason): boolean =>
  reason === 'busy' || reason === 'closed' || reason === 'crashed'

const isTemporary = ({ spf, dkim, dmarc }: Authentication): boolean =>
  dmarc.result === 'temperror' ||
  (dmarc.result !== 'pass' && (spf.result === 'temperror' || dkim.result === 'temperror'))

const NOTES: Record<RefusedReason, string> = {
  too_large: 'The message takes more memory to read than a message may.',
  too_deep: 'The message has parts within parts more deeply than a message may.',
  too_many_parts: 'The message has more parts than a message may.',
  header_too_large: 'The header is larger than a header may be.',
  malformed: 'The message is not readable as one.',
  timeout: 'Reading the message took longer than a message may.',
  crashed: 'Reading the message failed again and again.',
  busy: 'There was no time to read the message.',
  closed: 'There was no time to read the message.',
}

/** It is found by who wrote it and about what. A few hundred characters, so without a thread. */
const wordsOfFirstLines = ({ subject, from }: ReadArrival['mail']): Uint8Array =>
  wordsOf({
    subject,
    text: '',
    htmlText: '',
    addresses: { from: from.map(mailboxText), to: [] },
    attachmentNames: [],
    attachmentTexts: [],
  })

const FIRST_BYTES = 32 * 1024
const FIRST_CHARS = 500
const AUTHORS_MAX = 20

/** Who wrote and about what, of a mail that could not be read: its source has the rest. */
function firstLines({ content, headBytes }: Source, notes: string[]): ReadArrival['mail'] {
  const fields = readFields(content.toString('utf8', headBytes, headBytes + FIRST_BYTES))
  const shown = (name: string): string => displayValue((valueOf(fields, name) ?? '').slice(0, FIRST_CHARS))
  const authors = parseMailboxes((valueOf(fields, 'from') ?? '').slice(0, FIRST_CHARS), AUTHORS_MAX)
  return {
    from: authors.length > 0 ? authors : [{ name: shown('from'), address: '' }],
    sender: null,
    replyTo: [],
    to: [],
    cc: [],
    subject: shown('subject'),
    messageId: null,
    inReplyTo: null,
    references: [],
    date: null,
    text: '',
    html: null,
    extractedText: '',
    snippet: '',
    notes,
  }
}

async function fetchSource({ db }: World, { source_id: id, size }: Arrival): Promise<Source> {
  const content = Buffer.allocUnsafeSlow(size)
  let headBytes = 0
  for (let start = 0; start < size; start += PART_BYTES) {
    const found = await findSourcePart(db, id, { start, bytes: PART_BYTES })
    if (!found) throw new Error(`source ${id} is gone before it was filed`)
    found.part.copy(content, start)
    headBytes = found.head_bytes
  }
  return { content, headBytes }
}

function* slicesOf(attachments: readonly AttachmentRow[]): Generator<AttachmentRow[]> {
  let slice: AttachmentRow[] = []
  let bytes = 0
  for (const attachment of attachments) {
    if (slice.length > 0 && bytes + attachment.content.length > STORED_BYTES) {
      yield slice
      slice = []
      bytes = 0
    }
    slice.push(attachment)
    bytes += attachment.content.length
  }
  if (slice.length > 0) yield slice
}
