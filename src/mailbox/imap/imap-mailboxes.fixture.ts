// What the mailbox provider of the tests does with its mailboxes as a whole, and how it answers slowly.
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { unquoted, type FakeMailbox } from './imap-answers.fixture.ts'

interface Mailboxes {
  readonly mailboxes: Map<string, FakeMailbox>
  addMailbox(path: string): void
  rename(path: string, to: string): void
}

const MISSING = '!NO [NONEXISTENT] no such mailbox'

/** Each answers untagged lines; what begins with `!` is a refusal. */
export const mailboxCommands = (fake: Mailboxes): Record<string, (session: unknown, rest: string) => string> => ({
  LIST: (_session, rest) =>
    [...fake.mailboxes.values()]
      .filter(({ path }) => ['*', path].includes(unquoted(/(?:"[^"]*"|\S+)$/.exec(rest)![0])))
      .map(({ path, flags }) => `* LIST (${flags.join(' ')}) "/" "${path}"\r\n`)
      .join(''),
  LSUB: () => '',
  SUBSCRIBE: () => '',
  CREATE: (_session, rest) => {
    const path = unquoted(rest)
    if (fake.mailboxes.has(path)) return '!NO [ALREADYEXISTS] there is one'
    if (/[*%.]/.test(path)) return '!NO [CANNOT] no such name'
    fake.addMailbox(path)
    return ''
  },
  RENAME: (_session, rest) => {
    const [from, to] = [...rest.matchAll(/"[^"]*"|\S+/g)].map(([word]) => unquoted(word))
    if (!fake.mailboxes.has(from!)) return MISSING
    if (fake.mailboxes.has(to!)) return '!NO [ALREADYEXISTS] there is one'
    fake.rename(from!, to!)
    return ''
  },
  DELETE: (_session, rest) => (fake.mailboxes.delete(unquoted(rest)) ? '' : MISSING),
  STATUS: (_session, rest) => {
    const mailbox = fake.mailboxes.get(unquoted(rest.slice(0, rest.indexOf('(')).trim()))
    if (!mailbox) return MISSING
    const { path, messages, uidNext, uidValidity } = mailbox
    const unseen = messages.filter(({ flags }) => !flags.has('\\Seen')).length
    return `* STATUS "${path}" (MESSAGES ${messages.length} UIDNEXT ${uidNext} UIDVALIDITY ${uidValidity} UNSEEN ${unseen})\r\n`
  },
})

/** A byte at a time while it is to be slow; what is left then comes at once. */
export async function drip(socket: Socket, answer: string, everyMs: () => number | undefined): Promise<void> {
  let at = 0
  for (let ms = everyMs(); ms !== undefined && at < answer.length && !socket.destroyed; ms = everyMs()) {
    socket.write(answer[at++]!)
    await delay(ms)
  }
  if (!socket.destroyed) socket.write(answer.slice(at))
}
