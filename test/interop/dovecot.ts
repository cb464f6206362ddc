// Dovecot as the provider of a connected mailbox: IMAP and submission with XOAUTH2, and Python's imaplib as the other client
// that its owner uses.
import assert from 'node:assert/strict'
import { startDovecot, type Dovecot } from '../support/programs/dovecot.ts'
import { eventually } from '../support/eventually.ts'
import { anOAuthProvider, type OAuthStandIn } from '../support/oauth.ts'
import { aSink, type TestSink } from '../support/sink.ts'
import { check, run, section, version } from './checks.ts'
import { aCustomer, startSluice, type Customer } from './site.ts'

const ADDRESS = 'ann@provider.test'

interface Connected {
  dovecot: Dovecot
  oauth: OAuthStandIn
  relay: TestSink
  customer: Customer
  inboxId: string
}

export async function tryDovecot(): Promise<void> {
  section(
    'Dovecot as the provider of a connected mailbox',
    `Dovecot ${(await run('dovecot', ['--version'])).output.trim()}`,
    await version('python3', ['--version']),
  )
  const oauth = await anOAuthProvider()
  oauth.email = ADDRESS
  const relay = await aSink()
  const userOf = (token: string): string | null => (oauth.accessTokens.at(-1) === token ? ADDRESS : null)
  const dovecot = await startDovecot({ userOf, relayPort: relay.port })
  const sluice = await startSluice({
    ...oauth.environment,
    GOOGLE_IMAP: `imap://127.0.0.1:${dovecot.server.port}`,
    GOOGLE_SMTP: `smtp://127.0.0.1:${dovecot.submissionPort}`,
    DEMO: '0',
  })
  try {
    const customer = await aCustomer(sluice, 'dovecot')
    const { id: inboxId } = await customer.anInbox('ann')
    const connected = { dovecot, oauth, relay, customer, inboxId }
    await tryMirror(connected)
    await tryFolders(connected)
    await trySubmission(connected)
    await check('disconnected, the inbox keeps what it had', async () => {
      const { provider } = await customer.call('DELETE', `/v1/inboxes/${inboxId}/connect`)
      assert.equal(provider, 'native')
      await customer.arrival(inboxId, 'Old 1')
    })
  } finally {
    await sluice.stop()
    await dovecot.stop()
    await relay.close()
    await oauth.close()
  }
}

async function tryMirror(connected: Connected): Promise<void> {
  const { dovecot, oauth, customer, inboxId } = connected
  await check('a mailbox is connected, and what was in it is here', async () => {
    await dovecot.deliver(ADDRESS, ['Old 1', 'Old 2', 'Old 3'].map(aMail))
    const { auth_url } = await customer.call('POST', `/v1/inboxes/${inboxId}/connect/google`)
    await customer.follow(`/v1/inboxes/connect/callback${await oauth.agree(auth_url)}`)
    await eventually('it is live', async () => {
      const { connection } = await customer.call('GET', `/v1/inboxes/${inboxId}`)
      return connection?.state === 'live' && connection.messages_synced === 3
    })
    for (const subject of ['Old 1', 'Old 2', 'Old 3']) await customer.arrival(inboxId, subject)
  })
  await check('mail that imaplib appends is here', async () => {
    await imap(connected, `box.append("INBOX", None, None, ${JSON.stringify(aMail('New'))}.encode())`)
    await customer.arrival(inboxId, 'New')
  })
  await check('what is read here, imaplib finds read', async () => {
    const { id } = await customer.arrival(inboxId, 'Old 1')
    await customer.call('POST', `/v1/inbox-messages/${id}/read`, { read: true })
    await eventually('seen there', () => finds(connected, 'INBOX', 'SEEN SUBJECT "Old 1"'))
  })
  await check('what imaplib marks as read is read here', async () => {
    await imap(connected, `box.store(box.search(None, 'SUBJECT "Old 2"')[1][0], "+FLAGS", "\\\\Seen")`)
    await eventually('read here', async () => (await customer.arrival(inboxId, 'Old 2')).read)
  })
  await check('what is trashed here, imaplib finds in Trash', async () => {
    const { id } = await customer.arrival(inboxId, 'Old 3')
    await customer.call('POST', `/v1/inbox-messages/${id}/move`, { folder: 'trash' })
    await eventually('in Trash there', () => finds(connected, 'Trash', 'SUBJECT "Old 3"'))
    assert.equal(await finds(connected, 'INBOX', 'SUBJECT "Old 3"'), false)
  })
}

async function tryFolders(connected: Connected): Promise<void> {
  const { customer, inboxId } = connected
  const url = `/v1/inboxes/${inboxId}/folders`
  const listed = async (): Promise<string> => imap(connected, 'print(box.list())')
  const names = async (): Promise<string[]> => {
    const { folders } = await customer.call('GET', url)
    return (folders as { name: string; system: boolean }[]).filter(({ system }) => !system).map(({ name }) => name)
  }
  await check('a folder that is made here, imaplib finds', async () => {
    await customer.call('POST', url, { name: 'Projekte/Ähren' })
    await eventually('made there', async () => (await listed()).includes('Projekte/&AMQ-hren'))
  })
  await check('a folder that is renamed here is renamed there, with its mail', async () => {
    const { id } = await customer.arrival(inboxId, 'Old 1')
    await customer.call('POST', `/v1/inbox-messages/${id}/move`, { folder: 'Projekte/Ähren' })
    await customer.call('PATCH', `${url}/${encodeURIComponent('Projekte/Ähren')}`, { name: 'Work-v1.2' })
    await eventually('renamed there', () => finds(connected, 'Work-v1-2', 'SUBJECT "Old 1"').catch(() => false))
  })
  await check('a folder that imaplib renames is renamed here, with its mail', async () => {
    await imap(connected, `assert box.rename("Work-v1-2", "Job")[0] == "OK"`)
    await eventually('renamed here', async () => (await names()).includes('Job'), 90_000)
    assert.equal((await customer.arrival(inboxId, 'Old 1')).folder, 'Job')
  })
  await check('a folder that is deleted here is deleted there, and its mail is where it was moved to', async () => {
    await customer.call('DELETE', `${url}/Job?move_to=archive`)
    await eventually('deleted there', async () => !(await listed()).includes('Job'))
    assert.ok(await finds(connected, 'Archive', 'SUBJECT "Old 1"'))
  })
}

async function trySubmission({ customer, inboxId, relay, oauth }: Connected): Promise<void> {
  const compose = (subject: string) =>
    customer.call('POST', `/v1/inboxes/${inboxId}/messages`, { to: ['bob@elsewhere.test'], subject, text: 'Hello' })
  const relayed = (subject: string) =>
    eventually('it is relayed', async () => relay.received.find(mail => mail.source.includes(`Subject: ${subject}`)))
  // Before a connection is open, which is not asked again.
  await check('a token that it refuses is refreshed, and the mail leaves', async () => {
    const before = oauth.refreshes
    oauth.accessTokens.push('nobody has this one')
    await compose('Refreshed')
    await relayed('Refreshed')
    assert.ok(oauth.refreshes > before)
  })
  await check('what is composed leaves through its submission port, as the mailbox', async () => {
    await compose('Out')
    const mail = await relayed('Out')
    assert.equal(mail.mailFrom, ADDRESS)
    assert.match(mail.source, /^From: .*ann@provider\.test/m)
  })
}

const aMail = (subject: string): string =>
  `From: bob@elsewhere.test\r\nTo: ${ADDRESS}\r\nSubject: ${subject}\r\nDate: Mon, 02 Nov 2026 10:00:00 +0000\r\n` +
  `Message-ID: <${subject.replaceAll(' ', '-')}@elsewhere.test>\r\n\r\nHello\r\n`

async function finds(connected: Connected, folder: string, criteria: string): Promise<boolean> {
  const search = `print("found", box.search(None, ${JSON.stringify(criteria)})[1][0].decode())`
  return /found \d/.test(await imap(connected, search, folder))
}

/** Runs the statement with imaplib, signed in with the newest token. */
async function imap({ dovecot, oauth }: Connected, statement: string, folder = 'INBOX'): Promise<string> {
  const program = `
import imaplib
token = "user=${ADDRESS}\\x01auth=Bearer ${oauth.accessTokens.at(-1)}\\x01\\x01"
with imaplib.IMAP4("127.0.0.1", ${dovecot.server.port}, timeout=20) as box:
    box.authenticate("XOAUTH2", lambda challenge: token.encode())
    assert box.select("${folder}")[0] == "OK"
    ${statement}
`
  const { status, output } = await run('python3', ['-'], { input: program })
  assert.equal(status, 0, output)
  return output
}
