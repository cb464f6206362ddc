// What a mail from outside says, and what reading it may cost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMail } from '../mime/parse.ts'
import type { ParsedMail } from '../mime/parsed-mail.ts'
import { arf, dsn, dsnSaying, failed } from './report.fixture.ts'
import { readReport } from './read-report.ts'
import { verdictOn } from './verdict.ts'

async function mailOf(lines: readonly string[]): Promise<ParsedMail> {
  const mail = parseMail(new Uint8Array(Buffer.from(`Return-Path: <>\r\n${lines.join('\r\n')}`)))
  assert(mail.kind === 'mail', JSON.stringify(mail))
  return mail
}

test('a status report is a bounce, a feedback report a complaint or an opt-out, and a letter nothing', async () => {
  const kindOf = async (lines: readonly string[]) => readReport(await mailOf(lines)).kind
  assert.equal(await kindOf(dsn(failed('jane@example.com'))), 'bounce')
  assert.equal(await kindOf(arf(['Feedback-Type: abuse'])), 'complaint')
  assert.equal(await kindOf(arf(['Feedback-Type: opt-out'])), 'opt-out')
  assert.equal(await kindOf(arf(['Feedback-Type: not-spam'])), 'nothing')
  assert.equal(await kindOf(arf(['Feedback-Type: auth-failure'])), 'nothing')
  assert.equal(await kindOf(['From: jane@example.com', 'Subject: Hi', '', 'Hello']), 'nothing')
})

test('of several verdicts the one that names the recipient counts, a lone one in any case', async () => {
  const reading = readReport(await mailOf(dsn(failed('A@example.com'), failed('b@example.com', '5.2.2', '552 full'))))
  assert(reading.kind === 'bounce')
  assert.equal(verdictOn(reading.verdicts, 'a@Example.com')?.class, 'hard')
  assert.equal(verdictOn(reading.verdicts, 'b@example.com')?.class, 'soft')
  assert.equal(verdictOn(reading.verdicts, 'c@example.com'), null)
  assert.equal(verdictOn(reading.verdicts.slice(0, 1), 'c@example.com')?.class, 'hard')
})

test('a server that repeats itself has said one thing', async () => {
  const delayed = ['Final-Recipient: rfc822; list@example.com', 'Action: delayed', 'Status: 4.4.1']
  const reading = readReport(await mailOf(dsn(delayed, failed('list@example.com'), failed('list@example.com'))))
  assert(reading.kind === 'bounce')
  assert.deepEqual(
    reading.verdicts.map(verdict => verdict.class),
    ['hard'],
  )
  assert.equal(verdictOn(reading.verdicts, 'jane@example.com')?.class, 'hard')
})

const daemon = (...body: string[]): string[] => [
  'From: MAILER-DAEMON@mx.example.com',
  'Subject: failure notice',
  '',
  ...body,
]
const repeated = (line: (n: number) => string, times: number): string[] =>
  Array.from({ length: times }, (_, n) => line(n))

/** A notice that is looked at for each of a hundred recipients, because their fields do not say why. */
const aboutHundred = (...notice: string[]): string[] =>
  dsnSaying(notice, ...repeatedGroups(n => [`Final-Recipient: rfc822; u${n}@example.com`, 'Action: failed']))
const repeatedGroups = (group: (n: number) => string[]): string[][] => Array.from({ length: 100 }, (_, n) => group(n))

/** From nobody in particular: whether it is a bounce at all is told by its words. */
const letter = (...body: string[]): string[] => [
  'From: jane@example.com',
  'Subject: Hi',
  '',
  'Your mail could not be delivered.',
  ...body,
]

const HOSTILE: Record<string, string[]> = {
  'a line of dashes': aboutHundred('-'.repeat(32_000)),
  'a line of stars': aboutHundred('*'.repeat(32_000)),
  'a line of arrows': aboutHundred('<-'.repeat(16_000)),
  'short lines': aboutHundred(...repeated(() => 'a', 16_000)),
  'short paragraphs': aboutHundred(...repeated(n => (n % 2 ? '' : 'a'), 20_000)),
  'one line that names everybody': aboutHundred(repeated(n => `u${n}@example.com`, 1_500).join(' ')),
  'lines that name one of many': aboutHundred(...repeated(n => `x u${n % 100}@example.com 55`, 1_500)),
  'sections without a code': aboutHundred(...repeated(n => `<u${n}@example.com>: ${'- * '.repeat(70)}`, 100)),
  'one recipient a hundred times': dsnSaying(
    repeated(() => 'a@b.co\r\n', 3_000),
    ...repeatedGroups(() => ['Final-Recipient: rfc822; a@b.co', 'Action: failed']),
  ),
  'at signs before blanks': aboutHundred(...repeated(() => `${'@'.repeat(66)}${' '.repeat(900)}z`, 33)),
  'blanks around colons': aboutHundred(...repeated(() => `a@b.co${' '.repeat(450)}:${' '.repeat(450)}z`, 33)),
  'words without an end': letter('receiv'.repeat(5_400)),
  'more words without an end': letter('unverif'.repeat(4_600)),
  'a long subject': ['Subject: ' + 'deliver'.repeat(140_000), 'From: MAILER-DAEMON@mx.example.com', '', 'Hello'],
  'a long subject to the null sender': ['Subject: ' + 'deliver'.repeat(140_000), 'From: jane@example.com', '', 'Hello'],
  'a long sender': [
    `From: ${'mail-delivery'.repeat(70_000)} <jane@example.com>`,
    'Subject: failure notice',
    '',
    'Hello',
  ],
  'ten thousand groups of fields': dsn(...Array.from({ length: 10_000 }, (_, n) => failed(`u${n}@example.com`))),
  'many addresses': daemon(...repeated(n => `<u${n}@example.com>: 550 5.1.1 User user unknown-- not a b c`, 5_000)),
  'one long line': daemon(`550 ${'user '.repeat(500_000)}`),
  'codes and nothing else': daemon('550-5.1.1 '.repeat(100_000)),
  'lines of codes': daemon(...repeated(() => '550-', 100_000)),
  'open brackets': daemon('<'.repeat(500_000), '<a@'.repeat(200_000)),
  blanks: daemon(' '.repeat(500_000), '\t'.repeat(500_000)),
  dashes: daemon(...repeated(() => '-'.repeat(190), 20_000)),
  'markup without an end': ['Content-Type: text/html', ...daemon('<style>'.repeat(100_000), '<p '.repeat(100_000))],
  'long fields': dsn(
    ...Array.from({ length: 100 }, () => [`Action: failed`, `Diagnostic-Code: ${'a; 550 '.repeat(5_000)}`]),
  ),
  'words that nearly match': daemon('mailbox account user recipient '.repeat(50_000)),
  'many marks of ours': arf(
    ['Feedback-Type: abuse'],
    repeated(n => `X-${n}: b-${'a'.repeat(32)}-${'a'.repeat(16)}`, 5_000),
  ),
}

/** The time of the processor, in milliseconds; the better of two, because the first also compiles the patterns. */
function costOf(mail: ParsedMail): number {
  const spent = [1, 2].map(() => {
    const before = process.threadCpuUsage()
    const reading = readReport(mail)
    if (reading.kind === 'bounce') for (let n = 0; n < 100; n++) verdictOn(reading.verdicts, `u${n}@example.com`)
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1_000
  })
  return spent.reduce((least, ms) => Math.min(least, ms))
}

for (const [what, lines] of Object.entries(HOSTILE)) {
  test(`a hostile report costs little: ${what}`, async () => {
    const ms = costOf(await mailOf(lines))
    assert.ok(ms < 250, `${ms} ms`)
  })
}
