// How well mail of the field is read: values of broken and odd messages, and replies without their history, held against the
// labels of a collection that is not part of this project.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MimeReader } from '../src/mailbox/inbound/mime-reader.ts'
import type { ReadMail } from '../src/mailbox/inbound/read-mail.ts'
import { ThreadPool } from '../src/platform/threads/thread-pool.ts'
import { benchInjection } from './injection.ts'
import { heading, note, report } from './support/report.ts'

const CORPORA = process.env['CORPORA_DIR'] ?? '../shared/corpora'
const MIME_SHARE_MIN = 0.99
const REPLY_SHARE_MIN = 0.85
const SHOWN_MAX = 40
const SHOWN_CHARS = 160

interface Judged {
  name: string
  isRight: boolean
  said: string
}

export async function benchSamples(): Promise<void> {
  heading(`Samples: mail of the field against its labels (${CORPORA})`)
  if (!existsSync(CORPORA)) {
    note('The collection is not here, so nothing was measured. CORPORA_DIR says where it is.')
    return
  }
  const threads = new ThreadPool()
  const reader = new MimeReader(threads)
  show('MIME values', await judgeMime(reader), MIME_SHARE_MIN)
  await measureReplies(reader)
  await threads.close()
  await benchInjection()
}

function show(what: string, judged: readonly Judged[], shareMin: number): void {
  const wrong = judged.filter(({ isRight }) => !isRight)
  const share = 1 - wrong.length / Math.max(judged.length, 1)
  for (const { name, said } of wrong.slice(0, SHOWN_MAX)) note(`${name}: ${said}`)
  report({
    name: `${what}: agreement over ${judged.length}`,
    value: `${(share * 100).toFixed(1)} %`,
    target: `>= ${shareMin * 100} %`,
    isMet: share >= shareMin,
  })
}

type Label = string | (string | number | null)[]

interface MimeSample {
  file: string
  expect: Record<string, { value: Label }>
}

async function readMail(reader: MimeReader, source: Buffer) {
  const message = await reader.readMessage(source, 'bench')
  return message.kind === 'message' ? message.mail : message
}

async function judgeMime(reader: MimeReader): Promise<Judged[]> {
  const judged: Judged[] = []
  const lines = (await readFile(join(CORPORA, 'mime/expected.jsonl'), 'utf8')).trim().split('\n')
  for (const line of lines) {
    const { file, expect } = JSON.parse(line) as MimeSample
    const mail = await readMail(reader, await readFile(join(CORPORA, file)))
    for (const [field, { value }] of Object.entries(expect)) {
      const found = mail.kind === 'mail' ? valueIn(mail, field) : mail.reason
      judged.push({
        name: `${file} ${field}`,
        isRight: isSame(found, value),
        said: `${shown(found)}, not ${shown(value)}`,
      })
    }
  }
  return judged
}

function valueIn(mail: ReadMail, field: string): Label {
  const addresses = (list: ReadMail['to']): string[] => list.map(({ address }) => address.toLowerCase())
  switch (field) {
    case 'subject':
      return mail.subject
    case 'from':
      return addresses(mail.from)
    case 'to':
      return addresses(mail.to)
    case 'message_id':
      return mail.messageId ?? ''
    case 'attachment_names':
      return mail.attachments.map(({ declaredName }) => declaredName ?? '')
    case 'attachment_sizes':
      return mail.attachments.map(({ content }) => content.length)
    default:
      throw new Error(`a label of an unknown field: ${field}`)
  }
}

/** Lists in any order. A size that the label leaves open may be any, and an id is the same without its brackets. */
function isSame(found: Label, wanted: Label): boolean {
  if (typeof found === 'string' || typeof wanted === 'string') {
    return found === wanted || (typeof wanted === 'string' && found === `<${wanted}>`)
  }
  if (found.length !== wanted.length) return false
  const left = [...found]
  for (const value of wanted.filter(each => each !== null)) {
    const at = left.indexOf(value)
    if (at === -1) return false
    left.splice(at, 1)
  }
  return true
}

const shown = (value: Label): string => JSON.stringify(value).slice(0, SHOWN_CHARS)

async function measureReplies(reader: MimeReader): Promise<void> {
  const judged: Judged[] = []
  const short: string[] = []
  const rows = (await readFile(join(CORPORA, 'replies/expected.csv'), 'utf8')).trim().split(/\r?\n/).slice(1)
  for (const row of rows) {
    const [file = '', expected = ''] = row.split(',')
    const label = await readFile(join(CORPORA, expected), 'utf8')
    const mail = await readMail(reader, await asMail(file))
    const found = mail.kind === 'mail' ? folded(mail.extractedText) : mail.reason
    const wanted = folded(label)
    judged.push({ name: file, isRight: found === wanted, said: `${shown(found)}, not ${shown(wanted)}` })
    // Some labels keep the signature, which is to be left out.
    if (!found.includes(wanted) && !found.includes(folded(label.split(/^-- ?$/m)[0]!))) short.push(file)
  }
  show('replies', judged, REPLY_SHARE_MIN)
  for (const file of short) note(`cut too short: ${file}`)
  report({ name: 'replies: cut too short', value: `${short.length}`, target: '0', isMet: short.length === 0 })
}

const folded = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** Some samples are the text of a mail alone. */
async function asMail(file: string): Promise<Buffer> {
  const bytes = await readFile(join(CORPORA, file))
  return file.endsWith('.txt')
    ? Buffer.concat([Buffer.from('Content-Type: text/plain; charset=utf-8\r\n\r\n'), bytes])
    : bytes
}
