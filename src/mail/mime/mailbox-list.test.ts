import assert from 'node:assert/strict'
import test from 'node:test'
import { parseMailboxes } from './mailbox-list.ts'

const read = (value: string): string[] => parseMailboxes(value, 100).map(({ name, address }) => `${name}|${address}`)

test('addresses are read in every form that mail has', () => {
  const lists: [value: string, mailboxes: string[]][] = [
    ['ann@example.com', ['|ann@example.com']],
    ['<ann@example.com>', ['|ann@example.com']],
    ['Ann Field <ann@example.com>', ['Ann Field|ann@example.com']],
    ['"Field, Ann" <ann@example.com>, bob@example.com', ['Field, Ann|ann@example.com', '|bob@example.com']],
    ['"Ann \\"the\\" Field"<ann@example.com>', ['Ann "the" Field|ann@example.com']],
    ['ann@example.com (Ann Field)', ['Ann Field|ann@example.com']],
    ['Ann (from (the) office) Field <ann@example.com>', ['Ann Field|ann@example.com']],
    ['=?utf-8?Q?J=C3=B6rg?= <j@example.com>', ['Jörg|j@example.com']],
    ['"=?utf-8?Q?J=C3=B6rg?=" <j@example.com>', ['Jörg|j@example.com']],
    [
      'Team: ann@example.com, Bob <bob@example.com>; cid@example.com',
      ['|ann@example.com', 'Bob|bob@example.com', '|cid@example.com'],
    ],
    ['undisclosed-recipients:;', []],
    ['ann@example.com; bob@example.com', ['|ann@example.com', '|bob@example.com']],
    ['<ann@example.com> <bob@example.com>', ['|ann@example.com', '|bob@example.com']],
    ['"ann b"@example.com', ['|"ann b"@example.com']],
    ['"ceo@example.com" <evil@attack.example>', ['ceo@example.com|evil@attack.example']],
    ['ceo@example.com <evil@attack.example>', ['ceo@example.com|evil@attack.example']],
    ['=?utf-8?Q?ceo=40example.com?=', []],
    ['Ann <ann@example.com', ['Ann|ann@example.com']],
    ['Ann "Field <ann@example.com>', []],
    ['Ann Field ann@example.com', ['Ann Field|ann@example.com']],
    ['<@a.example,@b.example:ann@example.com>', ['|ann@example.com']],
    ['mailto:ann@example.com', ['|ann@example.com']],
    ['ann@ex@ample.com, <>, @, nobody, ,;', []],
    ['ann @ mail . example', ['|ann@mail.example']],
    ['Ann Field ann @ mail.example', ['Ann Field|ann@mail.example']],
    ['jörg@bücher.example', ['|jörg@bücher.example']],
  ]
  for (const [value, mailboxes] of lists) assert.deepEqual(read(value), mailboxes, value)
})

test('a long list is read as far as asked', () => {
  assert.equal(parseMailboxes('a@b.cc,'.repeat(140_000), 2_000).length, 2_000)
})

test('a megabyte of anything takes one pass', () => {
  for (const piece of [
    '<',
    '"',
    '(',
    ')',
    ',',
    ':',
    '\\',
    '<a',
    '=?utf-8?Q?a?= ',
    'a@b ',
    '"a',
    '(a',
    '<@',
    'a ',
    '"\\',
  ]) {
    const before = process.threadCpuUsage()
    parseMailboxes(piece.repeat(1_000_000 / piece.length), 2_000)
    const { user, system } = process.threadCpuUsage(before)
    assert((user + system) / 1000 < 1_000, `${piece} took ${(user + system) / 1000} ms`)
  }
})
