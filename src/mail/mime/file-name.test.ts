import assert from 'node:assert/strict'
import test from 'node:test'
import { safeFileName } from './file-name.ts'

test('a name of a file cannot leave its folder, its line or its direction', () => {
  const names: [declared: string | null, safe: string | null][] = [
    ['report.pdf', 'report.pdf'],
    ['Straße – Übersicht (1).pdf', 'Straße – Übersicht (1).pdf'],
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\windows\\system.ini', 'system.ini'],
    ['/etc/passwd', 'passwd'],
    ['C:\\temp\\a.txt', 'a.txt'],
    ['..', null],
    ['.', null],
    ['a/..', null],
    ['', null],
    [null, null],
    ['.htaccess', '.htaccess'],
    ['a\r\nSet-Cookie: x.txt', 'aSet-Cookie_ x.txt'],
    ['a\0.exe', 'a.exe'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['a\u200b\u2066b.pdf', 'ab.pdf'],
    ['a<b>|c?.txt', 'a_b_c_.txt'],
    ['trailing. . ', 'trailing'],
    ['CON.txt', '_CON.txt'],
    ['nul', '_nul'],
    ['console.log', 'console.log'],
    ['a\u00a0\u3000b.txt', 'a b.txt'],
    ['e\u0301.txt', 'é.txt'],
  ]
  for (const [declared, safe] of names) assert.equal(safeFileName(declared), safe, JSON.stringify(declared))
})

test('a long name is cut before its extension, and never inside a character', () => {
  const name = safeFileName(`${'ü'.repeat(500)}.pdf`)!
  assert(Buffer.byteLength(name) <= 200)
  assert.match(name, /^ü+\.pdf$/)
  assert.equal(safeFileName(`a.${'x'.repeat(500)}`)!.length, 200)
})
