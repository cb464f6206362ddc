// Python's smtplib against submission: what most scripts of customers use.
import assert from 'node:assert/strict'
import { check, run, section, version } from './checks.ts'
import { aCustomer, type Sluice } from './site.ts'

const SUBMIT = `
import smtplib, ssl, sys
from email.message import EmailMessage
port, username, password, sender, recipient = sys.argv[1:]
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
mail = EmailMessage()
mail["From"], mail["To"], mail["Subject"] = sender, recipient, "Grüße von Python"
mail.set_content("Hello\\n.\\n..dots\\n")
mail.add_alternative("<p>Hello</p>", subtype="html")
mail.add_attachment(bytes(range(256)) * 100, maintype="application", subtype="octet-stream", filename="Übersicht.bin")
with smtplib.SMTP("127.0.0.1", int(port), timeout=20) as smtp:
    smtp.starttls(context=context)
    smtp.login(username, password)
    assert smtp.send_message(mail) == {}
`

const REFUSED = `
import smtplib, ssl, sys
port, username = sys.argv[1:3]
with smtplib.SMTP("127.0.0.1", int(port), timeout=20) as smtp:
    smtp.starttls(context=ssl._create_unverified_context())
    try:
        smtp.login(username, "wrong")
    except smtplib.SMTPAuthenticationError as error:
        sys.exit(0 if error.smtp_code == 535 else 3)
sys.exit(4)
`

export async function tryPython(sluice: Sluice): Promise<void> {
  section("Python's smtplib", await version('python3', ['--version']))
  const customer = await aCustomer(sluice, 'python')
  const inbox = await customer.anInbox('reader')
  const { username, password } = customer.login
  const args = [String(sluice.smtpPort), username, password, `hello@${customer.domain}`, inbox.address]
  const python = (program: string) => run('python3', ['-', ...args], { input: program })

  await check('a mail with HTML and an attachment arrives as it was sent', async () => {
    const { status, output } = await python(SUBMIT)
    assert.equal(status, 0, output)
    const { id, text, attachments } = await customer.arrival(inbox.id, 'Grüße von Python')
    assert.equal(text.replaceAll('\r\n', '\n').trim(), 'Hello\n.\n..dots')
    assert.match(String(await customer.download(`/v1/inbox-messages/${id}/html`)), /<p>Hello<\/p>/)
    assert.equal(attachments[0].filename, 'Übersicht.bin')
    const file = await customer.download(`/v1/inbox-attachments/${attachments[0].id}`)
    assert.ok(file.equals(Buffer.concat(Array(100).fill(Buffer.from(Array.from({ length: 256 }, (_, n) => n))))))
  })
  await check('a wrong password is an SMTPAuthenticationError', async () => {
    const { status, output } = await python(REFUSED)
    assert.equal(status, 0, output)
  })
}
