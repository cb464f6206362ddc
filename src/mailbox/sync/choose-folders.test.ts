// Which folders of a provider are mirrored, and where.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseFolders } from './choose-folders.ts'

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
