// Approvals decided by a link: who is sent one, what its page shows, that opening it changes nothing, and that it decides once.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { system } from '../../platform/db/actor.ts'
import { sql } from '../../platform/db/sql.ts'
import { anAccount, anInbox, eventually, unique, type TestAccount } from '../../../test/support/factories.ts'
import { insertConnection, setDue } from '../sync/sync.fixture.ts'
import type { Api, TestReply } from '../../../test/support/client.ts'

const CARD = 'Pay with 4111 1111 1111 1111, <script>alert(1)</script> & please.'

let account: TestAccount
let agent: Api
let contactId: string
before(async () => {
  account = await anAccount({ sandbox: true })
  agent = await account.withKey({ scopes: ['send', 'read'] })
  assert.equal((await account.api.get('/v1/account')).body.approval_links, false)
  assert.equal((await account.api.patch('/v1/account', { approval_links: true })).body.approval_links, true)
  contactId = await aContact(account, 'Oncall@example.net')
})

async function aContact({ api }: TestAccount, target: string, min_severity = 'critical'): Promise<string> {
  const made = await api.post('/v1/alert-contacts', { channel: 'email', target, min_severity })
  assert.equal(made.status, 201)
  return made.body.id
}

async function aHeldMail(body: object = {}, owner: TestAccount = account, by: Api = agent) {
  const inboxId = await anInbox(owner)
  await owner.api.patch(`/v1/inboxes/${inboxId}`, { policy: { dlp: 'enforce' } })
  const mail = { to: ['bob@example.com'], subject: unique('s'), text: CARD, ...body }
  const held = await by.post(`/v1/inboxes/${inboxId}/messages`, mail)
  assert.equal(held.body.status, 'held', JSON.stringify(held.body))
  return { inboxId, id: held.body.id as string, approvalId: held.body.approval_id as string, subject: mail.subject }
}

const db = () => account.box.app.world.db
const stranger = () => account.box.client()
const approvalOf = async (id: string) => (await account.api.get(`/v1/approvals/${id}`)).body

const mailsAbout = (approvalId: string) =>
  db().many<{ contact_id: string; source: Buffer; recipient: string }>(sql`
    select n.contact_id, b.source, d.recipient from alert_notifications n
      join messages m on m.metadata ->> 'alert_notification' = n.id::text
      join message_bodies b on b.message_id = m.id join deliveries d on d.message_id = m.id
    where n.approval_id = ${approvalId} order by d.recipient`)

/** The transfer encoding undone. */
const linkIn = (source: Buffer): string => {
  const text = source.toString().replace(/=\r\n/g, '').replaceAll('=3D', '=')
  return new URL(/http\S+\/approval-links\/\S+/.exec(text)![0]).pathname
}

async function linkFor(approvalId: string, contact = contactId): Promise<string> {
  const mail = await eventually('the contact has a mail', async () =>
    (await mailsAbout(approvalId)).find(each => each.contact_id === contact),
  )
  return linkIn(mail.source)
}

const press = (link: string, button: 'approve' | 'reject'): Promise<TestReply> =>
  stranger().request('POST', `${link}/${button}`, {
    body: '',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

test('a contact is mailed a link in our own words, whose page shows the mail and the findings and changes nothing', async () => {
  const { approvalId, subject } = await aHeldMail({ html: '<p onclick="x()">card <b>4111 1111 1111 1111</b></p>' })
  const link = await linkFor(approvalId)
  const [mail] = await mailsAbout(approvalId)
  assert.equal(mail!.recipient, 'Oncall@example.net')
  assert.ok(!mail!.source.includes(subject) && !mail!.source.includes('4111'), 'nothing of the mail that waits')

  const page = await stranger().get(link)
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type')!, /^text\/html/)
  assert.match(page.headers.get('content-security-policy')!, /default-src 'none'.*form-action 'self'/)
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
  assert.match(page.headers.get('cache-control')!, /no-store/)
  assert.ok(page.body.includes(subject))
  assert.match(page.body, /<pre>Pay with <mark>4111 1111 1111 1111<\/mark>, &#60;script&#62;alert\(1\)/)
  assert.match(page.body, /<iframe sandbox="" [^>]*srcdoc="[^"]*&#60;p&#62;card/)
  assert.ok(!/<script|onclick/i.test(page.body))
  assert.match(page.body, new RegExp(`<form method="post" action="${link.split('/').at(-1)}/approve">`))
  const audit = async () => (await account.api.get('/v1/audit?limit=1')).body.entries[0].id
  const before = await audit()
  for (let n = 0; n < 3; n++) assert.equal((await stranger().get(link)).status, 200)
  assert.equal(await audit(), before)
  assert.equal((await approvalOf(approvalId)).status, 'pending')
})

test('the button approves once, in the name of the contact, and the page then says who decided and when', async () => {
  const { approvalId, id } = await aHeldMail()
  const other = await aContact(account, 'second@example.net')
  const second = await aHeldMail()
  const links = [await linkFor(second.approvalId), await linkFor(second.approvalId, other)]
  const link = await linkFor(approvalId)

  const pressed = await Promise.all(Array.from({ length: 6 }, () => press(link, 'approve')))
  assert.deepEqual(pressed.map(({ status }) => status).toSorted(), [200, 410, 410, 410, 410, 410])
  for (const { body } of pressed) assert.match(body, /approved by\s+<b>Oncall@example\.net<\/b> at \d{4}-\d\d-\d\d/)
  const { status, decided_by, decided_at } = await approvalOf(approvalId)
  assert.ok(['approved', 'sent'].includes(status))
  assert.deepEqual(decided_by, { type: 'contact', id: contactId, name: 'Oncall@example.net' })
  assert.ok(decided_at)
  const { count } = await db().one<{ count: number }>(sql`
    select count(*)::int as count from messages g join inbox_messages m on m.rfc_message_id = g.rfc_message_id
    where m.id = ${id}`)
  assert.equal(count, 1)
  const { entries } = (await account.api.get('/v1/audit?action=approval.approve')).body
  assert.equal(entries.length, 1)
  assert.deepEqual(entries[0].actor, { type: 'contact', id: contactId, name: 'Oncall@example.net' })
  assert.equal((await stranger().get(link)).status, 410)
  assert.equal((await press(link, 'reject')).status, 410)

  assert.notEqual(links[0], links[1], 'each contact has a link of its own')
  assert.equal((await press(links[1]!, 'reject')).status, 200)
  const late = await press(links[0]!, 'approve')
  assert.equal(late.status, 410)
  assert.match(late.body, /rejected by\s+<b>second@example\.net<\/b>/)
  assert.equal((await approvalOf(second.approvalId)).decided_by.id, other)
  assert.equal((await account.api.get('/v1/audit?action=approval.reject')).body.entries.length, 1)
  await account.api.delete(`/v1/alert-contacts/${other}`)
})

test('a link that was forged, altered, made for another mail, or whose contact was removed is no link', async () => {
  const [one, two] = [await aHeldMail(), await aHeldMail()]
  const leaving = await aContact(account, 'leaving@example.net')
  const third = await aHeldMail()
  const [link, other] = [await linkFor(one.approvalId), await linkFor(two.approvalId)]
  const ofLeaving = await linkFor(third.approvalId, leaving)
  const token = link.split('/').at(-1)!
  const bytes = Buffer.from(token, 'base64url')
  const swapped = Buffer.concat([
    Buffer.from(other.split('/').at(-1)!, 'base64url').subarray(0, 16),
    bytes.subarray(16),
  ])
  const forContact = Buffer.concat([
    bytes.subarray(0, 16),
    Buffer.from(leaving.replaceAll('-', ''), 'hex'),
    bytes.subarray(32),
  ])
  const altered = Buffer.from(bytes)
  altered[63]! ^= 1
  await account.api.delete(`/v1/alert-contacts/${leaving}`)
  const tokens = ['x', token.slice(1), `${token}A`, swapped, forContact, altered, Buffer.alloc(64)].map(each =>
    typeof each === 'string' ? each : each.toString('base64url'),
  )
  for (const path of [...tokens.map(each => `/approval-links/${each}`), ofLeaving]) {
    for (const answer of [await stranger().get(path), await press(path, 'approve'), await press(path, 'reject')]) {
      assert.equal(answer.status, 404, path)
      assert.match(answer.body, /<h1>No such link<\/h1>/)
    }
  }
  await db().transact({ type: 'system', id: null, name: 't', ip: null, requestId: null, action: null }, tx =>
    tx.run(sql`update approvals set content_hash = sha256('other') where id = ${one.approvalId}`),
  )
  assert.equal((await press(link, 'approve')).status, 404, 'the link is bound to what it showed')
  for (const { approvalId } of [one, two, third]) assert.equal((await approvalOf(approvalId)).status, 'pending')
})

test('a contact whose address is an inbox of the account is sent no link: an agent may read there', async () => {
  const readable = await anInbox(account)
  const { address } = (await account.api.get(`/v1/inboxes/${readable}`)).body
  const contacts = [await aContact(account, address), await aContact(account, address.replace('@', '+person@'))]
  const { approvalId } = await aHeldMail()
  await linkFor(approvalId)
  await eventually('the others are settled', async () => {
    const rows = await db().many<{ status: string; last_error: string | null }>(sql`
      select status, last_error from alert_notifications where approval_id = ${approvalId} and contact_id <> ${contactId}`)
    return rows.length === 2 && rows.every(row => row.status === 'dead' && /inbox of the account/.test(row.last_error!))
  })
  assert.equal((await mailsAbout(approvalId)).length, 1)
  for (const id of contacts) await account.api.delete(`/v1/alert-contacts/${id}`)
})

test('a contact whose address is a mailbox that the account has connected is sent no link, in any of its spellings', async () => {
  const owner = await anAccount({ sandbox: true, box: account.box })
  await owner.api.patch('/v1/account', { approval_links: true })
  const [gmail, office] = [await anInbox(owner), await anInbox(owner)]
  const tag = unique('box').replaceAll('-', '')
  await insertConnection(owner.box.app.world, { inboxId: gmail, address: `agent.${tag}@gmail.com` })
  await insertConnection(owner.box.app.world, { inboxId: office, address: `a.${tag}@office.example` })
  for (const inboxId of [gmail, office]) await setDue(owner.box.app.world, inboxId, null)
  const person = await aContact(owner, `a${tag}@office.example`)
  const same = [
    `Agent.${tag}@gmail.com`,
    `agent${tag}+me@googlemail.com`,
    `a.${tag}@office.example`,
    `A.${tag}+x@Office.example`,
  ]
  for (const address of same) await aContact(owner, address)
  const { approvalId } = await aHeldMail({}, owner, owner.api)
  await linkFor(approvalId, person)
  await eventually('the others are settled', async () => {
    const rows = await db().many<{ status: string; last_error: string | null }>(sql`
      select status, last_error from alert_notifications where approval_id = ${approvalId} and contact_id <> ${person}`)
    return rows.length === 4 && rows.every(row => row.status === 'dead' && /inbox of the account/.test(row.last_error!))
  })
  assert.equal((await mailsAbout(approvalId)).length, 1)
})

test('what refuses an approval over the API refuses it by link, says why, and leaves the link usable', async () => {
  const { approvalId, inboxId } = await aHeldMail()
  const link = await linkFor(approvalId)
  await account.api.patch(`/v1/inboxes/${inboxId}`, { policy: { allow_recipients: ['example.org'] } })
  const refused = await press(link, 'approve')
  assert.equal(refused.status, 403)
  assert.match(
    refused.body,
    /It was not sent\. The policy of this inbox does not allow mail to this address at example\.com/,
  )
  assert.match(refused.body, /<form method="post" action="approve">/)
  await account.api.patch(`/v1/inboxes/${inboxId}`, { policy: { allow_recipients: [] }, status: 'paused' })
  assert.equal((await press(link, 'approve')).status, 403)
  await account.api.patch(`/v1/inboxes/${inboxId}`, { status: 'active' })
  assert.equal((await press(link, 'approve')).status, 200)
})

test('a mail that is too long for the page says so, whatever its letters', async () => {
  for (const text of ['long '.repeat(30_000), `${'😀'.repeat(40_000)}${'x'.repeat(90_000)}`]) {
    const { approvalId } = await aHeldMail({ text: `${CARD} ${text}` })
    const page = await stranger().get(await linkFor(approvalId))
    assert.match(page.body, /longer than this page shows/)
    assert.ok(page.body.length < 200_000)
  }
})

test('files and recipients that the page does not name are counted', async () => {
  const { approvalId } = await aHeldMail({ attachments: Array.from({ length: 103 }, () => ({ content: 'eA==' })) })
  await db().transact(system('test'), tx =>
    tx.run(sql`
      update approvals set envelope = jsonb_set(envelope, '{recipients,1}', '{"address":"x@example.com","kind":"bcc"}')
      where id = ${approvalId}`),
  )
  const page = await stranger().get(await linkFor(approvalId))
  assert.match(page.body, /and 3 more/)
  assert.match(page.body, /goes to 2 recipients, and this page names 1 of them/)
})

test('what the HTML hides, and where its links and pictures lead, is on the page', async () => {
  const html = `<p>Thanks</p><img src="https://evil.example/?d=picture"><a href="https://evil.example/?d=link&amp;x">here</a>
    <div style="display:none;font-size:0">hidden</div>`
  const { approvalId } = await aHeldMail({ html })
  const { body } = await stranger().get(await linkFor(approvalId))
  assert.match(body, /<li>https:\/\/evil\.example\/\?d=picture<\/li>/)
  assert.match(body, /<li>https:\/\/evil\.example\/\?d=link&amp;x<\/li>/)
  assert.match(body, /srcdoc="&#60;style&#62;\* { display: revert !important[^"]*hidden/)
})

test('without the setting nobody is mailed; switched off later, links no longer decide', async () => {
  const quiet = await anAccount({ sandbox: true, box: account.box })
  await aContact(quiet, 'quiet@example.net')
  const untold = await aHeldMail({}, quiet, await quiet.withKey({ scopes: ['send', 'read'] }))
  const { approvalId } = await aHeldMail()
  const link = await linkFor(approvalId)
  assert.deepEqual(await mailsAbout(untold.approvalId), [])
  await account.api.patch('/v1/account', { approval_links: false })
  for (const answer of [await stranger().get(link), await press(link, 'approve')]) {
    assert.equal(answer.status, 410)
    assert.match(answer.body, /switched off/)
  }
  await account.api.patch('/v1/account', { approval_links: true })
  assert.equal((await stranger().get(link)).status, 200)
})

test('links of an account are at most half of its mails of a day', async () => {
  const busy = await anAccount({ sandbox: true, box: account.box })
  await busy.api.patch('/v1/account', { approval_links: true })
  for (const address of ['busy@example.net', 'idle@example.net']) await aContact(busy, address)
  await db().transact({ type: 'system', id: null, name: 't', ip: null, requestId: null, action: null }, tx =>
    tx.run(sql`insert into alert_mail_days (account_id, day, mails)
      values (${busy.id}, (${tx.now}::timestamptz at time zone 'UTC')::date, 49)`),
  )
  const key = await busy.withKey({ scopes: ['send', 'read'] })
  const told = await aHeldMail({}, busy, key)
  await eventually('the last mail of the share', async () => (await mailsAbout(told.approvalId)).length === 1)
  const { last_error: reason } = await eventually('the other contact is skipped', () =>
    db().maybe<{ last_error: string }>(sql`
      select last_error from alert_notifications where approval_id = ${told.approvalId} and status = 'dead'`),
  )
  assert.equal(reason, 'After 50 mails of a day the account gets none for approvals. The API lists them.')
  const untold = await aHeldMail({}, busy, key)
  const marker = await aHeldMail()
  await linkFor(marker.approvalId)
  assert.deepEqual(await mailsAbout(untold.approvalId), [])
})

test('after seven days the link has expired, before and after the approval is rejected for it', async () => {
  const { approvalId } = await aHeldMail()
  const link = await linkFor(approvalId)
  account.box.clock.advance(7 * 86_400_000 + 1_000)
  for (const answer of [await stranger().get(link), await press(link, 'approve'), await press(link, 'reject')]) {
    assert.equal(answer.status, 410)
    assert.match(answer.body, /Too late|rejected by\s+<b>expiry<\/b>/)
  }
  assert.notEqual((await approvalOf(approvalId)).status, 'approved')
})
