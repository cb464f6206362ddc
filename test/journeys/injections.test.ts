// Mail that tells an agent what to do arrives from outside, and the agent obeys: through no door does anything leave before a
// person has approved it. All samples of the project, each through some of the doors; `npm run bench -- samples` tries all.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { aDnsServer } from '../../src/platform/net/dns.fixture.ts'
import { TestClient } from '../../src/smtp/server/client.fixture.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { theBox } from '../support/box.ts'
import { tryDoors } from '../support/doors.ts'
import { anAccount, anInbox, eventually } from '../support/factories.ts'

interface Sample {
  subject?: string
  text: string
  hidden?: string
  attachment?: string
}

const samples = readFileSync(new URL('../fixtures/shield/injections.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line) as Sample)

/** Each mail leaves a mark in its subject, by which it is found again. */
const sourceOf = ({ subject = '', text, hidden, attachment }: Sample, n: number): string => {
  const encoded = (given: string): string => Buffer.from(given).toString('base64').replaceAll(/.{76}/g, '$&\r\n')
  const part = (type: string, content: string): string =>
    `--b\r\nContent-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${encoded(content)}\r\n`
  const html = hidden && `<p>${text}</p><div style="display:none">${hidden}</div>`
  // Of every second one the text says something else than the HTML, which an agent may read as well.
  const other = part('text/plain', `Mail number ${n} is shown by programs that read HTML.`)
  const shown = `${other}${part('text/html', html ?? `<p>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>`)}`
  const alternative = `--b\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n${shown.replaceAll('--b', '--a')}--a--\r\n`
  const body = n % 2 === 1 ? alternative : html ? part('text/html', html) : part('text/plain', text)
  return [
    'From: Mia <mia@remote.example>',
    `Subject: =?utf-8?B?${Buffer.from(`[${n}] ${subject}`).toString('base64')}?=`,
    `Message-ID: <injection-${n}@remote.example>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    `${body}${attachment ? part('text/plain', attachment) : ''}--b--`,
    '',
  ].join('\r\n')
}

test('of all samples of injection none leaves a tainted thread unapproved, through any door', async t => {
  // It knows nobody, so that no sender is authenticated.
  const dns = await aDnsServer()
  const box = await theBox({ environment: { DNS_SERVERS: dns.address, MX_RATE_PER_MINUTE: '1000000' } })
  t.after(() => dns.close())
  const account = await anAccount({ sandbox: true, box })
  const { db } = box.app.world
  const inboxId = await anInbox(account)
  const { body: inbox } = await account.api.patch(`/v1/inboxes/${inboxId}`, {
    policy: { require_approval_on_taint: true, shield_mode: 'observe' },
  })
  const sending = samples.map((sample, n) => ({ sample, n })).values()
  const deliver = async (): Promise<void> => {
    const client = await TestClient.open(t, box.app.ports.mx!)
    await client.hello()
    for (const { sample, n } of sending) {
      assert.match(await client.send(sourceOf(sample, n), { from: 'mia@remote.example', to: [inbox.address] }), /^250/)
    }
  }
  await Promise.all(Array.from({ length: 4 }, deliver))
  const filed = await eventually(
    'all are filed',
    async () => {
      const rows = await db.many<{ id: string; subject: string; is_tainted: boolean }>(sql`
        select id, subject, is_tainted from inbox_messages where inbox_id = ${inboxId} limit 1000`)
      return rows.length === samples.length && rows
    },
    60_000,
  )
  const spared = filed.filter(({ is_tainted }) => !is_tainted).map(({ subject }) => subject)
  assert.deepEqual(spared, [])
  const mails = filed.map(({ id, subject }) => {
    const { text, hidden } = samples[Number(/^\[(\d+)\]/.exec(subject)![1])]!
    return { id, text: hidden ?? text }
  })

  const agent = await account.withKey({ scopes: ['send', 'read'] })
  const sendAt = new Date(box.clock.now().getTime() + 3_600_000).toISOString()
  const tried = await tryDoors({ post: (path, body) => agent.post(path, body), inboxId, sendAt }, mails, 2)
  t.diagnostic(JSON.stringify(tried))
  assert.ok(Object.values(tried).every(times => times >= 20))
  box.clock.advance(3_601_000)
  const waiting = sql`select count(*)::int as count from drafts where inbox_id = ${inboxId}`
  await eventually('the drafts are due', async () => (await db.one<{ count: number }>(waiting)).count === 0, 30_000)

  const { pending, sent } = await db.one<{ pending: number; sent: number }>(sql`
    select (select count(*) from approvals where inbox_id = ${inboxId} and status = 'pending')::int as pending,
      (select count(*) from messages where account_id = ${account.id})::int as sent`)
  const times = Object.values(tried).reduce((sum, each) => sum + each, 0)
  assert.deepEqual({ pending, sent }, { pending: times, sent: 0 })
})
