// What a hostile message may cost the main thread: messages of up to 64 KiB are prepared there.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atUsualSpeed } from '../../../test/support/main-thread.ts'
import { FROM, prepare } from './prepare-mail.fixture.ts'

/** The most that is prepared on the main thread, less the fields that make it a message. */
const BYTES = 64 * 1024 - 200
/** A fifth of what a neighbour may notice. An honest message takes a millisecond or two. */
const MS_MAX = 50

/** As many repetitions as fit, between a beginning and an end. */
const filled = (piece: string, { before = '', after = '' } = {}): string =>
  before + piece.repeat(Math.floor((BYTES - before.length - after.length) / Buffer.byteLength(piece))) + after

const VALUES: Record<string, string> = {
  'trailing blanks': filled(' ', { before: 'x' }),
  'blanks before a word': filled(' ', { before: 'x', after: 'y' }),
  'tabs and blanks': filled('\t ', { before: 'x' }),
  'words of one letter': filled('x '),
  'one long word': filled('x'),
  'folded lines': filled('x\r\n '),
  'folded blank lines': filled(' \r\n ', { before: 'x' }),
  'escaped quotes without an end': filled('\\"', { before: '"' }),
  'escaped brackets without an end': filled('\\(', { before: '(' }),
  'quotes and escapes': filled('"\\'),
  'open quotes': filled('"'),
  'open brackets': filled('('),
  'nested comments': filled('(\\', { after: ')' }),
  'angle brackets': filled('<'),
  'angle brackets and names': filled('a<b'),
  'empty angle brackets': filled('<>'),
  backslashes: filled('\\'),
  commas: filled(','),
  'commas and blanks': filled(', '),
  addresses: filled('a@b.co,'),
  'addresses with names': filled('"a" <a@b.co>,'),
  'addresses with comments': filled('(a) a@b.co,'),
  'quoted local parts': filled('"a b"@b.co,'),
  groups: filled('a:b@c.de;'),
  'at signs': filled('@'),
  dots: filled('a.'),
  'long labels': filled(`a@${'a-'.repeat(400)},`),
  'many labels': filled(`a@${'a.'.repeat(400)},`),
  'long names': filled(`${'a '.repeat(400)}<a@b.co>,`),
  'names of marks': filled(`${'!'.repeat(900)}<a@b.co>,`),
  'openings of encoded words': filled('=?'),
  'encoded words': filled('=?utf-8?q?a?= '),
  'encoded words of many charsets': filled('=?iso-8859-2?b?4Q==?='),
  'encoded words without an end': filled('=?utf-8?q?'),
  'one encoded word': filled('=20', { before: '=?utf-8?q?', after: '?=' }),
  'wrong bytes in encoded words': filled('=?utf-8?q?=ff?= '),
  questions: filled('?'),
  'letters outside ASCII': filled('ü'),
  'letters outside ASCII and blanks': filled('ü '),
  'named addresses outside ASCII': filled('ü <a@b.co>,'),
  'characters of four bytes': filled('😀'),
  semicolons: filled(';'),
  boundaries: filled('; boundary=', { before: 'multipart/mixed' }),
  'boundaries in quotes': filled('; boundary="', { before: 'multipart/mixed' }),
  'blanks before a boundary': filled(' ', { before: 'multipart/mixed;', after: 'boundary=b' }),
  'numbered boundaries': filled('1', { before: 'multipart/mixed; boundary*' }),
  slashes: filled('a/'),
  'message ids': filled('<a@b>'),
  'an open object': filled('{"a":', { before: '{"a":' }),
  'a list of objects': filled('{},'),
}

const FIELDS = ['X-A', 'Subject', 'To', 'Cc', 'Reply-To', 'Sender', 'References', 'Message-ID', 'Content-Type']
const OTHER_FIELDS = ['X-Service-Tags', 'X-Service-Metadata', 'Idempotency-Key', 'Content-Transfer-Encoding', 'Date']

/** The time of the processor, in milliseconds; the better of two, because the first may pay for the compiler. */
function costOf(source: string): number {
  const spent = [1, 2].map(() => {
    const before = process.threadCpuUsage()
    try {
      prepare(source)
    } catch {
      // Refusing it is as good as taking it; how long it took is what counts.
    }
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1_000
  })
  return spent.reduce((least, ms) => Math.min(least, ms))
}

function assertCheap(sources: Record<string, string>): void {
  const dear = Object.entries(sources)
    .map(([what, source]) => ({ what, ms: costOf(source) }))
    .filter(({ ms }) => ms > MS_MAX && atUsualSpeed(ms) > MS_MAX)
  assert.deepEqual(
    dear.map(({ what, ms }) => `${what}: ${ms.toFixed(0)} ms`),
    [],
  )
}

for (const field of [...FIELDS, ...OTHER_FIELDS]) {
  test(`64 KiB of ${field} cost the main thread less than ${MS_MAX} ms, whatever stands there`, () => {
    assertCheap(
      Object.fromEntries(
        Object.entries(VALUES).map(([what, value]) => [what, `${FROM}\r\n${field}: ${value}\r\n\r\nHello\r\n`]),
      ),
    )
  })
}

test(`64 KiB of From cost the main thread less than ${MS_MAX} ms, whatever stands there`, () => {
  assertCheap(
    Object.fromEntries(Object.entries(VALUES).map(([what, value]) => [what, `From: ${value}\r\n\r\nHello\r\n`])),
  )
})

test(`64 KiB of fields or of parts cost the main thread less than ${MS_MAX} ms`, () => {
  const multipart = `${FROM}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n`
  const long = `${'x'.repeat(999)}\r\n`
  assertCheap({
    'fields of one name': `${FROM}\r\n${filled('X-A: b\r\n')}\r\nHello\r\n`,
    'fields of many names': `${FROM}\r\n${Array.from({ length: 7_000 }, (_, n) => `X${n}: \r\n`).join('')}\r\nHello\r\n`,
    'fields outside ASCII': `${FROM}\r\n${Array.from({ length: 4_000 }, (_, n) => `X${n}: ü\r\n`).join('')}\r\nHello\r\n`,
    'fields without a value': `${FROM}\r\n${filled('X:\r\n')}\r\nHello\r\n`,
    'lines without a colon': `${FROM}\r\n${filled('X\r\n')}\r\nHello\r\n`,
    'blanks before a colon': `${FROM}\r\n${filled(' ', { before: 'Subject', after: 'x' })}\r\n\r\nHello\r\n`,
    tags: `${FROM}\r\n${filled('X-Service-Tags: a\r\n')}\r\nHello\r\n`,
    parts: multipart + long + filled('--b\r\n'),
    'nearly parts': multipart + long + filled('--b'),
    'parts without a break': multipart + long + filled('\r\n--b x'),
    'a body outside ASCII': `${FROM}\r\n\r\n${filled('ü')}\r\n`,
    'a body of one line': `${FROM}\r\n\r\n${filled('x')}\r\n`,
    'a body of blanks': `${FROM}\r\n\r\n${filled(' ')}\r\n`,
    'a quoted body of one line': `${FROM}\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${filled('=3D')}\r\n`,
    'a base64 body of one line': `${FROM}\r\nContent-Transfer-Encoding: base64\r\n\r\n${filled('*A')}\r\n`,
    'boundaries in the body': `${FROM}\r\nIdempotency-Key: k\r\n\r\n${filled('boundary="')}\r\n`,
    'one boundary in the body': `${FROM}\r\nIdempotency-Key: k\r\n\r\n${filled('boundary=bbbbbbbb ')}\r\n`,
  })
})
