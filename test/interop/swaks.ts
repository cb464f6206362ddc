// swaks, the mail administrator's test client, against submission and the MX port.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { check, run, section, version } from './checks.ts'
import { aCustomer, type Customer, type Sluice } from './site.ts'

export async function trySwaks(sluice: Sluice): Promise<void> {
  section('swaks', await version('swaks', ['--version']))
  const customer = await aCustomer(sluice, 'swaks')
  const inbox = await customer.anInbox('reader')
  const { username, password } = customer.login
  const swaks = (port: number, subject: string, ...args: string[]) =>
    run('swaks', ['--server', '127.0.0.1', '--port', String(port), '--header', `Subject: ${subject}`, ...args])
  const login = (mechanism: string) => ['--auth', mechanism, '--auth-user', username, '--auth-password', password]
  const envelope = ['--from', `hello@${customer.domain}`, '--to', inbox.address]

  for (const mechanism of ['PLAIN', 'LOGIN']) {
    await check(`submission with STARTTLS and AUTH ${mechanism} is accepted, and arrives`, async () => {
      const subject = `By ${mechanism}`
      const { status, output } = await swaks(sluice.smtpPort, subject, '--tls', ...login(mechanism), ...envelope)
      assert.equal(status, 0, output)
      await customer.arrival(inbox.id, subject)
    })
  }
  await check('an attachment arrives as it was sent', async () => {
    await attach(sluice, customer, inbox.id, file =>
      swaks(sluice.smtpPort, 'With a file', '--tls', ...login('PLAIN'), ...envelope, '--attach', `@${file}`),
    )
  })
  await check('a wrong password is refused with 535', async () => {
    const wrong = ['--auth', 'PLAIN', '--auth-user', username, '--auth-password', 'wrong']
    const { status, output } = await swaks(sluice.smtpPort, 'Never', '--tls', ...wrong, ...envelope)
    assert.notEqual(status, 0)
    assert.match(output, /<~\* 535 5\.7\.8/)
  })
  await check('submission without AUTH is refused with 530', async () => {
    const { output } = await swaks(sluice.smtpPort, 'Never', '--tls', ...envelope)
    assert.match(output, /530 5\.7\.0/)
  })
  await check('the MX port takes a pipelined mail over STARTTLS', async () => {
    const stranger = ['--from', 'someone@elsewhere.test', '--to', inbox.address]
    const { status, output } = await swaks(sluice.mxPort, 'To the MX', '--tls', '--pipeline', ...stranger)
    assert.equal(status, 0, output)
    await customer.arrival(inbox.id, 'To the MX')
  })
  await check('the MX port relays for nobody', async () => {
    const elsewhere = ['--from', 'someone@elsewhere.test', '--to', 'other@elsewhere.test']
    const { output } = await swaks(sluice.mxPort, 'Never', '--tls', ...elsewhere)
    assert.match(output, /<~\* 550 5\.1\.1/)
  })
}

async function attach(
  { dataDir }: Sluice,
  customer: Customer,
  inboxId: string,
  send: (file: string) => Promise<{ status: number | null; output: string }>,
): Promise<void> {
  const content = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 31) % 251))
  const file = join(dataDir, 'attached.bin')
  await writeFile(file, content)
  const { status, output } = await send(file)
  assert.equal(status, 0, output.slice(-2_000))
  const { attachments } = await customer.arrival(inboxId, 'With a file')
  assert.equal(attachments.length, 1)
  assert.ok((await customer.download(`/v1/inbox-attachments/${attachments[0].id}`)).equals(content))
}
