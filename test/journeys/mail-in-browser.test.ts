// Hostile HTML mail in a real browser: received like any mail, fetched as the API gives it, and shown both in the frame that a
// mail program would use and bare in a page that allows everything. Nothing runs, nothing is asked for from outside, and no
// style leaves the box that the mail stands in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { VECTORS } from '../../src/mail/text/vectors.fixture.ts'
import { sql } from '../../src/platform/db/sql.ts'
import { aDnsServer } from '../../src/platform/net/dns.fixture.ts'
import { TestClient } from '../../src/smtp/server/client.fixture.ts'
import { theBox } from '../support/box.ts'
import { aBrowser } from '../support/browser.ts'
import { anAccount, anInbox, eventually } from '../support/factories.ts'

const sourceOf = (html: string, n: number): string =>
  [
    'From: Mallory <mallory@remote.example>',
    `Subject: Vector ${n}`,
    `Message-ID: <vector-${n}@remote.example>`,
    'MIME-Version: 1.0',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(html).toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
    '',
  ].join('\r\n')

/** What a mail program shows: no script, no origin, a policy of its own. */
const framed = (html: string): string => {
  const policy = `<meta http-equiv="content-security-policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">`
  const escaped = `${policy}${html}`.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<iframe sandbox srcdoc="${escaped}" style="width:100%;height:100%;border:0"></iframe>`
}

/** A page that allows everything, with a box for each mail and something beside them that no mail must touch. */
const pageWith = (mails: readonly string[]): string => `<!doctype html><meta charset=utf-8>
<div id=beside style="position:absolute;left:0;top:0;width:200px;height:200px;color:rgb(1, 2, 3)"><p>Beside</p></div>
${mails.map((mail, n) => `<div class=box style="${placeOf(n)}">${mail}</div>`).join('\n')}`

const placeOf = (n: number): string =>
  `position:absolute;left:300px;top:${300 + n * 60}px;width:300px;height:50px;overflow:hidden`

test('hostile mail runs nothing, asks nobody and stays in its box, in a frame and in a bare page', async t => {
  const browser = await aBrowser(t)
  if (!browser) return
  const dns = await aDnsServer()
  t.after(() => dns.close())
  const box = await theBox({ environment: { DNS_SERVERS: dns.address, MX_RATE_PER_MINUTE: '1000000' } })
  const account = await anAccount({ sandbox: true, box })
  const inboxId = await anInbox(account)
  const { address } = (await account.api.get(`/v1/inboxes/${inboxId}`)).body
  const client = await TestClient.open(t, box.app.ports.mx!)
  await client.hello()
  for (const [n, vector] of VECTORS.entries()) {
    assert.match(await client.send(sourceOf(vector, n), { from: 'mallory@remote.example', to: [address] }), /^250/)
  }
  const filed = await eventually(
    'all are filed',
    async () => {
      const rows = await box.app.world.db.many<{ id: string }>(sql`
        select id from inbox_messages where inbox_id = ${inboxId} order by id limit 500`)
      return rows.length === VECTORS.length && rows
    },
    60_000,
  )
  const page = await (await browser.newContext({ viewport: { width: 900, height: 700 } })).newPage()
  const seen = watch(page)
  const bare: string[] = []
  const inFrames: string[] = []
  for (const { id } of filed) {
    bare.push((await account.api.get(`/v1/inbox-messages/${id}/html`)).body.html)
    inFrames.push(framed((await account.api.get(`/v1/inbox-messages/${id}`)).body.html ?? ''))
  }
  const shown = async (mails: readonly string[]): Promise<string[]> => {
    await page.setContent(pageWith(mails), { waitUntil: 'load' })
    return [...(await faultsOf(page)), ...seen.splice(0)]
  }
  for (const mails of [bare, inFrames]) {
    const faults = await shown(mails)
    // One by one where there is a fault, to say which of them it was.
    if (faults.length > 0) for (const mail of mails) assert.deepEqual(await shown([mail]), [], mail)
    assert.deepEqual(faults, [])
  }
  // The watch itself sees what there is to see.
  await page.setContent(
    pageWith(['<img src="https://evil.example/x.gif" onerror="alert(1)"><style>p{color:red}</style>']),
  )
  await eventually(
    'the attack is seen',
    async () => seen.some(each => each.includes('evil.example')) && seen.includes('dialog'),
  )
  assert.notDeepEqual(await faultsOf(page), [])
})

test('the page behind the link of an approval shows the mail in its frame, and its button approves', async t => {
  const browser = await aBrowser(t)
  if (!browser) return
  const account = await anAccount({ sandbox: true, box: await theBox() })
  const inboxId = await anInbox(account)
  await account.api.patch('/v1/account', { approval_links: true })
  await account.api.post('/v1/alert-contacts', { channel: 'email', target: 'person@example.net' })
  await account.api.patch(`/v1/inboxes/${inboxId}`, { policy: { max_send_per_hour: 0 } })
  const agent = await account.withKey({ scopes: ['send'] })
  const html = '<p style="color:#fff;display:none">In the frame</p><img src="https://evil.example/x.gif">'
  const mail = { to: ['bob@example.com'], subject: 'For <b>approval</b>', text: '<script>alert(1)</script>', html }
  const held = await agent.post(`/v1/inboxes/${inboxId}/messages`, mail)
  const { source } = await eventually('the mail to the contact', () =>
    account.box.app.world.db.maybe<{ source: Buffer }>(sql`
      select b.source from alert_notifications n join messages m on m.metadata ->> 'alert_notification' = n.id::text
        join message_bodies b on b.message_id = m.id
      where n.approval_id = ${held.body.approval_id}`),
  )
  const link = /http\S+\/approval-links\/\S+/.exec(source.toString().replaceAll('=\r\n', ''))![0]

  const page = await (await browser.newContext()).newPage()
  const faults: string[] = []
  page.on('dialog', () => faults.push('dialog'))
  page.on('console', message => message.type() === 'error' && faults.push(message.text()))
  page.on('request', request => request.url().includes('evil') && faults.push(request.url()))
  await page.goto(link)
  const frame = page.frames().find(each => each !== page.mainFrame())!
  const shown = await frame.evaluate(
    `[document.querySelector('p').textContent, getComputedStyle(document.querySelector('p')).color,
      getComputedStyle(document.querySelector('p')).display]`,
  )
  assert.deepEqual(shown, ['In the frame', 'rgb(34, 34, 34)', 'block'], 'what its reader would not see is shown')
  assert.equal(await page.locator('pre').textContent(), mail.text)
  assert.ok((await page.locator('dl').textContent())!.includes(mail.subject))
  await page.getByRole('button', { name: 'Approve and send' }).click()
  await page.getByRole('heading', { name: 'Approved' }).waitFor()
  assert.match((await page.locator('main').textContent())!, /approved by\s+person@example\.net/)
  assert.deepEqual(faults, [])
  assert.notEqual((await account.api.get(`/v1/approvals/${held.body.approval_id}`)).body.status, 'pending')
})

/** Requests, dialogs and new windows. Nothing reaches the network. */
function watch(page: Page): string[] {
  const seen: string[] = []
  page.on('dialog', dialog => {
    seen.push('dialog')
    void dialog.dismiss()
  })
  page.on('popup', () => seen.push('popup'))
  page.on('framenavigated', frame => {
    if (!frame.url().startsWith('about:')) seen.push(`navigated to ${frame.url()}`)
  })
  void page.route('**', route => {
    const url = route.request().url()
    if (!/^(?:data|about):/.test(url)) seen.push(`asked for ${url}`)
    return route.abort()
  })
  return seen
}

/** What the mail did to what stands beside it. Runs in the page. */
const faultsOf = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const found = []
    const beside = document.getElementById('beside')
    const { color, display } = getComputedStyle(beside.querySelector('p'))
    if (color !== 'rgb(1, 2, 3)' || display !== 'block') found.push('style beside: ' + color + ' ' + display)
    const { left, top, width, height } = beside.getBoundingClientRect()
    if (left !== 0 || top !== 0 || width !== 200 || height !== 200) found.push('what stands beside was moved')
    for (const [x, y] of [[20, 20], [190, 190], [250, 250], [700, 600], [299, 400], [601, 400]]) {
      if (document.elementFromPoint(x, y)?.closest('.box')) found.push('a mail covers ' + x + ', ' + y)
    }
    return found
  })()`)
