// The text of attached files, of every kind that is read, through the threads as the service reads them; and files that are
// made to do harm.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { constants, deflateRawSync, deflateSync } from 'node:zlib'
import { ThreadPool } from '../../platform/threads/thread-pool.ts'
import {
  aPdf,
  aPresentation,
  aSpreadsheet,
  aWordFile,
  aZip,
  anEncryptedPdf,
  anOpenDocument,
  deflated,
} from './files.fixture.ts'
import { TextReader } from './text-reader.ts'

const threads = new ThreadPool()
const reader = new TextReader(threads)
after(() => threads.close())

const OCTETS = 'application/octet-stream'

async function textOf(content: Buffer | string, { filename = 'file.bin', contentType = OCTETS } = {}) {
  const read = await reader.textOf({ filename, contentType, content: Buffer.from(content) }, 'an account')
  return read.kind === 'text' ? read.text : read
}

test('text comes out of every kind of file that is read', async () => {
  assert.equal(await textOf(aPdf(['Quarterly report 2026', 'Second page'])), 'Quarterly report 2026\nSecond page')
  assert.equal(await textOf(aPdf(['Packed \\351t\\351'], { pack: deflated })), 'Packed été')
  assert.equal(await textOf(aWordFile(['Contrat &#233;t&#xE9;', 'a &lt; b'])), 'Contrat été\na < b\nLetterhead')
  assert.equal(await textOf(aSpreadsheet()), 'Customer\t1234.5\nMüller\topen & due\n2\n10')
  assert.equal(await textOf(aPresentation(['One', 'Two'])), 'One\nTwo\nSpeak slowly')
  assert.equal(await textOf(anOpenDocument()), 'Heading\nFirst\tsecond\nthird')
  assert.equal(await textOf(anOpenDocument('<t:constructor/><t:__proto__/>')), 'Heading\nFirst\tsecond\nthird')
  const page = '<p>Caf&eacute; <b>cr&egrave;me</b><script>var a = "<p>no"</script></p><!-- no --><div>1 < 2</div>'
  assert.equal(await textOf(page, { filename: 'menu.html' }), 'Café crème\n1 < 2')
  const rich = String.raw`{\rtf1\ansi{\fonttbl{\f0 Arial;}}{\*\generator x;}\f0 Caf\'e9 {\b cr\u232?me}\par 1 \{2\}}`
  assert.equal(await textOf(rich), 'Café crème\n1 {2}')
  assert.equal(await textOf('name;town\r\nAda;Zürich\r\n', { filename: 'people.csv' }), 'name;town\nAda;Zürich')
  const event =
    'BEGIN:VEVENT\r\nSUMMARY:Budget\\, round two\r\nDTSTART;TZID="Europe/Berlin":20261116T093000\r\nDESCRIPTION:Long\r\n  line\r\n' +
    'ATTENDEE;CN="Doe; Ann":mailto:ann@example.com\r\nX-OTHER:no\r\nEND:VEVENT\r\n'
  assert.equal(
    await textOf(event, { contentType: 'text/calendar; method=REQUEST' }),
    'Budget, round two\n2026-11-16 09:30\nLong line\nDoe ann@example.com',
  )
})

test('text is read in the character set that it is in', async () => {
  const plain = (bytes: Buffer, contentType = 'text/plain') => textOf(bytes, { filename: 'a.txt', contentType })
  assert.equal(await plain(Buffer.from('Grüße')), 'Grüße')
  assert.equal(await plain(Buffer.from('Grüße', 'latin1')), 'Grüße')
  assert.equal(await plain(Buffer.from('Grüße', 'latin1'), 'text/plain; charset=utf-8'), 'Gr\ufffd\ufffde')
  assert.equal(await plain(Buffer.from('\ufeffGrüße', 'utf16le')), 'Grüße')
  assert.equal(await plain(Buffer.from('Grüße ohne Marke', 'utf16le')), 'Grüße ohne Marke')
  assert.equal(await plain(Buffer.from('cff0e8e2e5f2', 'hex'), 'text/plain; charset="windows-1251"'), 'Привет')
  assert.equal(await plain(Buffer.from('93fa967b8cea', 'hex'), 'text/plain; charset=Shift_JIS'), '日本語')
  assert.equal(await plain(Buffer.from('1b2442467c4b5c386c1b2842', 'hex'), 'text/plain; charset=iso-2022-jp'), '日本語')
  assert.equal(await plain(Buffer.from('caf\xe9', 'latin1'), 'text/plain; charset=no-such-set'), 'café')
})

test('a file without text says why', async () => {
  const reasonOf = async (...args: Parameters<typeof textOf>) => {
    const read = await textOf(...args)
    assert.ok(typeof read === 'object', `there was text: ${JSON.stringify(read).slice(0, 100)}`)
    return read.reason
  }
  assert.equal(await reasonOf(''), 'It is empty.')
  assert.equal(await reasonOf(' \n\t'.repeat(3), { filename: 'a.txt' }), 'It contains no text.')
  assert.equal(
    await reasonOf(Buffer.from([0x89, 0x50, 0x4e, 0x47]), { filename: 'a.png' }),
    'Files of this kind are not read.',
  )
  assert.equal(await reasonOf(Buffer.from([0, 1, 2, 3, 0, 0, 0, 9]), { filename: 'a.txt' }), 'It is not text.')
  assert.equal(await reasonOf(anEncryptedPdf()), 'It is encrypted.')
  assert.equal(
    await reasonOf(Buffer.from('d0cf11e0a1b11ae1', 'hex')),
    'It is encrypted, or an Office file from before 2007.',
  )
  assert.equal(await reasonOf('%PDF-1.7 and nothing else'), 'It is broken.')
  assert.equal(await reasonOf(aPdf(['cut short']).subarray(0, 40)), 'It is broken.')
  assert.equal(await reasonOf(aZip({ 'a.txt': 'text' })), 'It is an archive, and archives are not opened.')
  assert.equal(await reasonOf(aWordFile(['cut']).subarray(0, 200)), 'It has no directory.')
  const locked = aWordFile(['locked'])
  locked[locked.indexOf('PK\u0001\u0002') + 8]! |= 1
  const entry = locked.lastIndexOf('PK\u0001\u0002', locked.lastIndexOf('word/document.xml'))
  locked[entry + 8]! |= 1
  assert.equal(await reasonOf(locked), 'It is encrypted.')
})

test('a zip that would unpack to more than it may is refused before it is', async () => {
  const declared = aWordFile(['a'])
  const entry = declared.lastIndexOf('PK\u0001\u0002', declared.lastIndexOf('word/document.xml'))
  declared.writeUInt32LE(65 * 1024 * 1024, entry + 24)
  assert.deepEqual(await textOf(declared), { kind: 'none', reason: 'It would unpack to more than 64 MB.' })

  // It says less than it holds: unpacking ends where it said.
  const bomb = aZip({ 'word/document.xml': Buffer.alloc(8 * 1024 * 1024, 32) })
  bomb.writeUInt32LE(1000, bomb.lastIndexOf('PK\u0001\u0002') + 24)
  assert.ok(bomb.length < 20_000)
  assert.deepEqual(await textOf(bomb), { kind: 'none', reason: 'It is broken.' })

  const many = aZip({ 'word/document.xml': '<w:t>a</w:t>' })
  const end = many.lastIndexOf('PK\u0005\u0006')
  many.writeUInt16LE(10_001, end + 10)
  assert.deepEqual(await textOf(many), { kind: 'none', reason: 'It has more than 10000 parts.' })
})

test('a text is cut at a million characters, and an entity that a document defines is not expanded', async () => {
  const read = await reader.textOf(
    { filename: 'a.txt', contentType: OCTETS, content: Buffer.from('é'.repeat(1_500_000)) },
    'a',
  )
  assert.deepEqual([read.kind, read.kind === 'text' && read.isCut], ['text', true])
  assert.equal(read.kind === 'text' && read.text.length, 1_000_000)
  const laughs = '<!DOCTYPE w [<!ENTITY a "ha ha ha"><!ENTITY b "&a;&a;&a;">]><w:p><w:t>&b; end</w:t></w:p>'
  assert.equal(await textOf(aZip({ 'word/document.xml': laughs })), '&b; end')
})

test('markup that is nothing but beginnings is read in the time of its length', async () => {
  const began = process.cpuUsage()
  for (const piece of ['<', '<!--', '<a ', '<script>', '&', '<![CDATA[', '</', '<p title="'])
    await textOf(piece.repeat(125_000), { filename: 'a.html' })
  for (const piece of ['<', '<!--', '<w:t>', '<![CDATA[', '</', "<w:t a='"])
    await textOf(aZip({ 'word/document.xml': piece.repeat(125_000) }))
  const { user, system } = process.cpuUsage(began)
  assert.ok((user + system) / 1_000 < 4_000)
})

test('a PDF with a page count that is a lie, or with thousands of pages, gives the text that it has', async () => {
  const pages = Array.from({ length: 40 }, (_, index) => `Page ${index + 1}`)
  assert.equal(await textOf(aPdf(pages)), pages.join('\n'))
  const lie = aPdf(['The only page'], { extra: '/Count 2000000000' })
  assert.match(JSON.stringify(await textOf(lie)), /The only page|broken/)
})

test('a PDF that unpacks to gigabytes is stopped by its memory or its time, and others are read meanwhile', async () => {
  // A stream of a megabyte that inflates to a gigabyte of spaces; the same 16 MB again and again.
  const piece = deflateRawSync(Buffer.alloc(16 * 1024 * 1024, 32), { finishFlush: constants.Z_FULL_FLUSH })
  const gigabyte = () => ({
    bytes: Buffer.concat([Buffer.from('789c', 'hex'), ...Array.from({ length: 64 }, () => piece)]),
    filter: '/Filter /FlateDecode',
  })
  const bomb = aPdf(['after the bomb'], { pack: gigabyte })
  const before = process.memoryUsage().rss
  const [read, other] = await Promise.all([
    textOf(bomb),
    reader.textOf({ filename: 'a.txt', contentType: OCTETS, content: Buffer.from('read meanwhile') }, 'another'),
  ])
  assert.equal(typeof read, 'object', 'it was read')
  assert.match((read as { reason: string }).reason, /^Reading it took (longer|more memory) than it may\.$/)
  assert.deepEqual(other, { kind: 'text', text: 'read meanwhile', isCut: false })
  const grownMb = (process.memoryUsage().rss - before) / 1024 / 1024
  assert.ok(grownMb < 600, `${grownMb.toFixed(0)} MB`)
})

test('a file that keeps its reader busy is ended by time', async () => {
  const hurried = new TextReader(threads, { timeoutMs: 300 })
  const spin = Buffer.from('BT /F1 12 Tf ' + '0 0 Td (a) Tj '.repeat(400_000) + 'ET', 'latin1')
  const content = aPdf(['x'], { pack: () => ({ bytes: deflateSync(spin), filter: '/Filter /FlateDecode' }) })
  const began = performance.now()
  const read = await hurried.textOf({ filename: 'spin.pdf', contentType: OCTETS, content }, 'an account')
  assert.deepEqual(read, { kind: 'none', reason: 'Reading it took longer than it may.' })
  assert.ok(performance.now() - began < 5_000)
})
