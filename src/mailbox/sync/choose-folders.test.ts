// Which folders of a provider are mirrored, and where.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseFolders, pathsFor } from './choose-folders.ts'

const folder = (path: string, specialUse?: string, ...flags: string[]) => ({
  path,
  delimiter: '/',
  flags: new Set(flags),
  specialUse,
})

test('folders of Gmail: labels are mirrored, all mail is looked into, views and drafts are left out', () => {
  const chosen = chooseFolders([
    folder('[Gmail]', undefined, '\\Noselect'),
    folder('[Gmail]/All Mail', '\\All'),
    folder('[Gmail]/Drafts', '\\Drafts'),
    folder('[Gmail]/Important', '\\Important', '\\Important'),
    folder('[Gmail]/Sent Mail', '\\Sent'),
    folder('[Gmail]/Spam', '\\Junk'),
    folder('[Gmail]/Starred', '\\Flagged'),
    folder('[Gmail]/Trash', '\\Trash'),
    folder('INBOX', '\\Inbox'),
    folder('Work/Projects'),
  ])

  assert.deepEqual(
    chosen.map(({ path, role, isMirrored }) => [path, role, isMirrored]),
    [
      ['INBOX', 'inbox', true],
      ['[Gmail]/Sent Mail', 'sent', true],
      ['[Gmail]/All Mail', 'archive', false],
      ['Work/Projects', null, true],
      ['[Gmail]/Spam', 'spam', true],
      ['[Gmail]/Trash', 'trash', true],
    ],
  )
})

test('folders of Outlook: the outbox is left out, and an archive makes all mail needless', () => {
  const chosen = chooseFolders([
    folder('Inbox', '\\Inbox'),
    folder('Outbox'),
    folder('Archive', '\\Archive'),
    folder('All', '\\All'),
    folder('Deleted', '\\Trash'),
  ])

  assert.deepEqual(
    chosen.map(({ path, role }) => [path, role]),
    [
      ['Inbox', 'inbox'],
      ['Archive', 'archive'],
      ['Deleted', 'trash'],
    ],
  )
})

test('levels are shown by slashes, and of countless folders five hundred are mirrored', () => {
  const many = Array.from({ length: 900 }, (_, n) => ({ path: `a.${n}`, delimiter: '.', flags: new Set<string>() }))
  const chosen = chooseFolders([folder('INBOX', '\\Inbox'), ...many])

  assert.equal(chosen.length, 501)
  assert.equal(chosen[1]!.name, 'a/0')
})

test('of countless folders those that are known stay, wherever others are listed', () => {
  const many = Array.from({ length: 900 }, (_, n) => folder(`m${n}`))
  const chosen = chooseFolders([folder('INBOX', '\\Inbox'), ...many], new Set(['m899', 'gone']))

  assert.equal(chosen.length, 501)
  assert.ok(chosen.some(({ path }) => path === 'm899'))
})

test('a folder that is listed twice is one, and paths that cannot be stored are none', () => {
  const paths = ['a', 'a', 'nul\0', '\ud800', 'x'.repeat(501)]
  const chosen = chooseFolders([folder('INBOX', '\\Inbox'), ...paths.map(path => folder(path))])

  assert.deepEqual(
    chosen.map(({ path }) => path),
    ['INBOX', 'a'],
  )
})

test('a name becomes a path with the levels of the provider, and a plainer one', () => {
  assert.deepEqual(pathsFor('Work/2026', '/'), ['Work/2026'])
  assert.deepEqual(pathsFor('Work/v1.2', '.'), ['Work.v1-2'])
  assert.deepEqual(pathsFor('Work v1.2', '/'), ['Work v1.2', 'Work v1-2'])
  assert.deepEqual(pathsFor('/50 % off*//', '/'), ['50 - off-'])
  assert.deepEqual(pathsFor('../~root', '/'), ['-/-root', '--/-root'])
  assert.deepEqual(pathsFor('inbox', '/'), [])
  assert.deepEqual(pathsFor('🎉', '/'), ['🎉', '-'])
})
