// How often bounces, complaints and replies of the field are understood: read as the MX port reads them, and held against the
// labels of a collection that is not part of this project.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { classifyReply } from '../src/mail/reports/bounce-classes.ts'
import { prependLines } from '../src/mail/mime/headers.ts'
import { ThreadPool } from '../src/platform/threads/thread-pool.ts'
import { MimeReader } from '../src/mailbox/inbound/mime-reader.ts'
import type { Reading } from '../src/mail/reports/read-report.ts'
import { parseReply } from '../src/mail/reports/smtp-reply.ts'
import { verdictOn, type Verdict } from '../src/mail/reports/verdict.ts'
import { heading, note, report } from './support/report.ts'

const CORPORA = process.env['CORPORA_DIR'] ?? '../shared/corpora'
const SHARE_MIN = 0.97
const SHOWN_MAX = 60

interface Judged {
  name: string
  /** A warning that it takes longer: it changes nothing, and labels that allow `soft` are taken to mean it. */
  isDelay?: boolean
  isRight: boolean
  isWrongSuppression: boolean
  said: string
}

export async function benchReports(): Promise<void> {
  heading(`Reports: bounces, complaints and replies of the field against their labels (${CORPORA})`)
  if (!existsSync(CORPORA)) {
    note('The collection is not here, so nothing was measured. CORPORA_DIR says where it is.')
    return
  }
  const threads = new ThreadPool()
  const reader = new MimeReader(threads)
  show('bounces (DSN and in words)', await judgeBounces(reader))
  show('complaints (ARF)', await judgeComplaints(reader))
  show('SMTP replies', await judgeReplies())
  await threads.close()
}

function show(what: string, judged: readonly Judged[]): void {
  const right = judged.filter(({ isRight }) => isRight).length
  const share = right / Math.max(judged.length, 1)
  const wrong = judged.filter(({ isWrongSuppression }) => isWrongSuppression)
  for (const { name, said } of judged.filter(({ isRight }) => !isRight).slice(0, SHOWN_MAX)) note(`${name}: ${said}`)
  report({
    name: `${what}: agreement over ${judged.length}`,
    value: `${(share * 100).toFixed(1)} %`,
    target: `>= ${SHARE_MIN * 100} %`,
    isMet: share >= SHARE_MIN,
  })
  report({ name: `${what}: wrong suppressions`, value: `${wrong.length}`, target: '0', isMet: wrong.length === 0 })
  const delays = judged.filter(({ isDelay }) => isDelay).length
  if (delays > 0) note(`${delays} of them are warnings of a delay: they change nothing, which counts as soft`)
  for (const { name, said } of wrong) note(`wrong suppression: ${name}: ${said}`)
}

async function judgeBounces(reader: MimeReader): Promise<Judged[]> {
  const judged: Judged[] = []
  const rows = await table('dsn/expected.csv')
  for (const [file, about] of Map.groupBy(rows, row => row['file']!)) {
    const reading = await readingOf(reader, file)
    for (const row of about) {
      const accepted = row['accept_classes']!.split('|')
      const { said, detail, isDelay } = bounceSaid(reading, row)
      const isRight = accepted.includes(said)
      const isWrongSuppression = said === 'hard' && !isRight
      judged.push({
        name: file,
        isDelay,
        isRight,
        isWrongSuppression,
        said: `${said}, not ${accepted.join('|')} (${row['reason']}); ${detail}`,
      })
    }
  }
  return judged
}

/** A temporary failure that is reported before the sender gave up changes nothing here; labels call it soft. */
function bounceSaid(reading: Reading, row: Record<string, string>): { said: string; detail: string; isDelay: boolean } {
  if (reading.kind !== 'bounce') return { said: 'none', detail: reading.kind, isDelay: false }
  const { verdicts } = reading
  // Rows that name nobody are told apart by the answer they were labelled from.
  const isSame = ({ reply }: Verdict): boolean =>
    reply.enhanced === row['status'] && String(reply.code) === row['reply_code']
  const index = Math.max(Number(row['recipient_index']) - 1, 0)
  const verdict = row['recipient']
    ? verdictOn(verdicts, row['recipient'])
    : (verdicts.find(isSame) ?? verdicts[index] ?? null)
  if (!verdict) {
    return { said: 'none', detail: `${verdicts.length} verdicts, none on ${row['recipient']}`, isDelay: false }
  }
  const { code, enhanced, text } = verdict.reply
  const isDelay = verdict.class === 'transient' && code >= 400
  const said = verdict.class !== 'transient' ? verdict.class : isDelay ? 'soft' : 'none'
  return { said, detail: `${verdict.rule}: ${code} ${enhanced} ${text.slice(0, 120)}`, isDelay }
}

async function judgeComplaints(reader: MimeReader): Promise<Judged[]> {
  const judged: Judged[] = []
  for (const row of await table('arf/fields.csv')) {
    const file = row['file']!
    // What is no report by its own label has no verdict that could be right.
    if (row['well_formed'] !== 'true') continue
    const reading = await readingOf(reader, file)
    const wanted = COMPLAINT_OF[row['feedback_type']!] ?? 'complaint'
    const fields = 'report' in reading ? wrongFields(reading.report, row) : []
    judged.push({
      name: file,
      isRight: reading.kind === wanted && fields.length === 0,
      isWrongSuppression: reading.kind === 'complaint' && wanted !== 'complaint',
      said: `${reading.kind}, not ${wanted} ${fields.join(', ')}`,
    })
  }
  return judged
}

const COMPLAINT_OF: Record<string, Reading['kind']> = {
  'opt-out': 'opt-out',
  'auth-failure': 'nothing',
  'not-spam': 'nothing',
}

function wrongFields(found: Extract<Reading, { report: unknown }>['report'], row: Record<string, string>): string[] {
  const bare = (text: string | null | undefined): string => (text ?? '').replaceAll(/[<>]/g, '').toLowerCase()
  const wrong: string[] = []
  const recipient = bare(row['original_rcpt_to'])
  if (recipient && !found.originalRecipients.some(each => bare(each) === recipient)) wrong.push('recipient')
  if (row['original_mail_from'] && bare(found.originalMailFrom) !== bare(row['original_mail_from']))
    wrong.push('sender')
  if (row['embedded_message_id'] && bare(found.messageId) !== bare(row['embedded_message_id'])) wrong.push('message id')
  return wrong
}

async function judgeReplies(): Promise<Judged[]> {
  const judged: Judged[] = []
  for (const row of await table('smtp-responses/responses.csv')) {
    const accepted = row['accept_classes']!.split('|')
    if (!row['accept_classes']) continue
    // Lines of one reply were joined with blanks; on the wire each has its code at its beginning.
    const wire = row['response']!.replaceAll(new RegExp(` (?=${row['code']}[ -])`, 'g'), '\r\n')
    // Whom it was said to is not kept; where an answer names anybody, the recipient comes first.
    const recipients = /[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/.exec(wire)?.slice(0, 1)
    const verdict = classifyReply(parseReply(wire), recipients)
    const said = verdict.class === 'transient' ? ['soft', 'block'] : [verdict.class]
    const isRight = said.some(each => accepted.includes(each))
    judged.push({
      name: row['response']!.slice(0, 100),
      isRight,
      isWrongSuppression: verdict.class === 'hard' && !isRight,
      said: `${verdict.class}, not ${accepted.join('|')} (${row['source_category']}); ${verdict.rule}`,
    })
  }
  return judged
}

/** As it would come over the wire from the null sender; what is only the text of a bounce gets a header. */
async function readingOf(reader: MimeReader, file: string): Promise<Reading> {
  const raw = (await readFile(join(CORPORA, file))).toString('latin1')
  const source = file.endsWith('.txt') ? `${HEADER}\n${raw}` : raw.replace(/^From [^\n]*\n/, '')
  const wire = Buffer.from(source.replaceAll(/\r?\n/g, '\r\n'), 'latin1')
  const read = await reader.readReport(prependLines(wire, 'Return-Path: <>\r\n'), { ip: '192.0.2.1', isToRole: false })
  return read.kind === 'report' ? read.toReturnPath : { kind: 'nothing' }
}

const HEADER = [
  'From: Mail Delivery System <MAILER-DAEMON@mx.example.net>',
  'Subject: Undelivered Mail Returned to Sender',
  'Content-Type: text/plain; charset=utf-8',
  '',
].join('\n')

/** Comma-separated values with a line of names; quotes are doubled inside quotes. */
async function table(file: string): Promise<Record<string, string>[]> {
  const text = await readFile(join(CORPORA, file), 'utf8')
  const rows: string[][] = [[]]
  for (const [, quoted, bare, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n"]*))(,|\r?\n|$)/g)) {
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? bare ?? '')
    if (end !== ',') rows.push([])
  }
  const [names, ...values] = rows.filter(row => row.length > 1)
  return values.map(row => Object.fromEntries(names!.map((name, at) => [name, row[at] ?? ''])))
}
