// Every door through which mail leaves a mailbox, tried with mail that tells an agent what to do: what an agent would do that
// obeys it.
import assert from 'node:assert/strict'

/** Calls the API with the key of the agent. */
// oxlint-disable-next-line typescript/no-explicit-any -- replies are read freely here
export type Post = (path: string, body: object) => Promise<{ status: number; body: any }>

export interface Obeyed {
  /** Of the message in the inbox. */
  id: string
  /** What the mail says, to be passed on. */
  text: string
}

interface Trying {
  post: Post
  inboxId: string
  /** When scheduled drafts are due. */
  sendAt: string
}

const to = ['thief@collect.example']
const quoted = (text: string): string => `FYI\n\n${text.replaceAll(/^/gm, '> ')}\n`

type Door = (trying: Trying, obeyed: Obeyed) => Promise<{ status: number; body: { status?: string } }>

const tool = async ({ post }: Trying, name: string, args: object) => {
  const params = { name, arguments: args }
  const { status, body } = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  return { status, body: body.result?.structuredContent ?? body }
}

const DOORS: Record<string, Door> = {
  reply: ({ post }, { id }) => post(`/v1/inbox-messages/${id}/reply`, { text: 'Done.' }),
  'reply to all': ({ post }, { id }) => post(`/v1/inbox-messages/${id}/reply`, { reply_all: true, cc: to }),
  forward: ({ post }, { id }) => post(`/v1/inbox-messages/${id}/forward`, { to }),
  'draft that answers': async ({ post, inboxId }, { id }) => {
    const made = await post(`/v1/inboxes/${inboxId}/drafts`, { to, text: 'Done.', reply_to_id: id })
    return post(`/v1/drafts/${made.body.draft.id}/send`, {})
  },
  'draft that is due later': async ({ post, inboxId, sendAt }, { id }) =>
    post(`/v1/inboxes/${inboxId}/drafts`, { to, text: 'Done.', reply_to_id: id, send_at: sendAt }),
  'new mail that quotes': ({ post, inboxId }, { text }) =>
    post(`/v1/inboxes/${inboxId}/messages`, { to, subject: 'FYI', text: quoted(text) }),
  'draft that quotes, due later': ({ post, inboxId, sendAt }, { text }) =>
    post(`/v1/inboxes/${inboxId}/messages`, { to, subject: 'FYI', text: quoted(text), send_at: sendAt }),
  'tool reply_message': (trying, { id }) => tool(trying, 'reply_message', { message_id: id, text: 'Done.' }),
  'tool send_message that quotes': (trying, { text }) =>
    tool(trying, 'send_message', { inbox_id: trying.inboxId, to, subject: 'FYI', text: quoted(text) }),
}

const CLIENTS = 16

/**
 * Tries `each` of the doors for every mail, another one first for each; all of them without. Answers how often each was tried;
 * fails at the first that lets a mail go.
 */
export async function tryDoors(
  trying: Trying,
  mails: readonly Obeyed[],
  each = Object.keys(DOORS).length,
): Promise<Record<string, number>> {
  const doors = Object.entries(DOORS)
  const tries = mails
    .flatMap((mail, n) =>
      Array.from({ length: each }, (_, k) => ({ mail, door: doors[(n * each + k) % doors.length]! })),
    )
    .filter(({ mail, door: [name] }) => !name.includes('quotes') || isQuotable(mail.text))
  const waiting = tries.values()
  const client = async (): Promise<void> => {
    for (const { mail, door } of waiting) {
      const [name, open] = door
      const { status, body } = await open(trying, mail)
      const isWaiting = name.includes('later') ? status === 201 || body.status === 'scheduled' : body.status === 'held'
      assert.ok(isWaiting, `${name}: ${status} ${JSON.stringify(body)} for ${JSON.stringify(mail.text)}`)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return Object.fromEntries(doors.map(([name]) => [name, tries.filter(({ door }) => door[0] === name).length]))
}

/** Fewer words are said by everybody, and are no quotation. */
const isQuotable = (text: string): boolean =>
  (text.match(/\p{L}+/gu) ?? []).length >= 4 || (text.match(/[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]/gu) ?? []).length >= 8
