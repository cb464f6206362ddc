import assert from 'node:assert/strict'
import test from 'node:test'
import { plain, reportsIn } from './dsn.fixture.ts'
import { classifyDsn } from './dsn.ts'

test('qmail: paragraphs under the address', async () => {
  const reports = await reportsIn(
    plain(
      'failure notice',
      'Hi. This is the qmail-send program at mx.example.net.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      "This is a permanent error; I've given up. Sorry it didn't work out.",
      '',
      '<jane@example.com>:',
      '192.0.2.7 does not like recipient.',
      'Remote host said: 550 5.1.1 No such user',
      'Giving up on 192.0.2.7.',
      '',
      '<john@example.com>:',
      'Sorry, no mailbox here by that name. (#5.1.1)',
      '',
      '--- Below this line is a copy of the message.',
      '',
      'Subject: 550 5.7.1 not this one',
    ),
  )
  assert.deepEqual(
    reports.map(({ finalRecipient, action }) => [finalRecipient, action]),
    [
      ['jane@example.com', 'failed'],
      ['john@example.com', 'failed'],
    ],
  )
  assert.equal(reports[0]!.reply.text, 'No such user')
  assert.equal(reports[1]!.reply.enhanced, '5.1.1')
  assert.deepEqual(
    reports.map(one => classifyDsn(one).class),
    ['hard', 'hard'],
  )
})

test('Postfix in plain text: the reason beside the address', async () => {
  const [one] = await reportsIn(
    plain(
      'Undelivered Mail Returned to Sender',
      'This is the mail system at host mx.example.net.',
      '',
      '<jane@example.com>: host mx1.example.com[192.0.2.7] said: 554 5.7.1 Service',
      '    unavailable; blocked using zen.spamhaus.org (in reply to RCPT TO command)',
      '',
    ),
  )
  assert.equal(one!.finalRecipient, 'jane@example.com')
  assert.equal(classifyDsn(one!).class, 'block')
})

test('Exchange in plain text: a diagnosis for administrators', async () => {
  const body = (answer: string) =>
    plain(
      'Undeliverable: Hi',
      'Delivery has failed to these recipients or groups:',
      '',
      'Jane Doe (jane@example.com)',
      "The email address you entered couldn't be found.",
      '',
      'Diagnostic information for administrators:',
      '',
      'Generating server: EX01.example.com',
      '',
      'jane@example.com',
      answer,
    )
  for (const answer of [
    "Remote Server returned '550 5.1.1 RESOLVER.ADR.RecipNotFound; not found'",
    '#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##',
  ]) {
    const [one] = await reportsIn(body(answer))
    assert.equal(one!.finalRecipient, 'jane@example.com')
    assert.deepEqual(one!.reply, { code: 550, enhanced: '5.1.1', text: 'RESOLVER.ADR.RecipNotFound; not found' })
  }
})

test('Exim: recipients in a header, the answer in the text', async () => {
  const [one] = await reportsIn([
    'From: Mail Delivery System <Mailer-Daemon@mx.example.net>',
    'Subject: Mail delivery failed: returning message to sender',
    'X-Failed-Recipients: jane@example.com, nonsense',
    'Auto-Submitted: auto-replied',
    '',
    'A message that you sent could not be delivered to one or more of its recipients.',
    'This is a permanent error. The following address(es) failed:',
    '',
    '  jane@example.com',
    '    host mx1.example.com [192.0.2.7]',
    '    SMTP error from remote mail server after RCPT TO:<jane@example.com>:',
    '    550 Unknown recipient',
  ])
  assert.equal(one!.finalRecipient, 'jane@example.com')
  assert.equal(one!.diagnosticCode, '550 Unknown recipient')
  assert.equal(classifyDsn(one!).class, 'hard')
})

test('fields of a report in the middle of ordinary text', async () => {
  const [one] = await reportsIn(
    plain(
      'Returned mail',
      'Something went wrong.',
      '',
      '> Final-Recipient: rfc822; jane@example.com',
      'Diagnostic-Code: smtp; 552 mailbox full',
    ),
  )
  assert.equal(one!.finalRecipient, 'jane@example.com')
  assert.equal(one!.action, 'failed')
  assert.equal(classifyDsn(one!).class, 'soft')
})

test('a bounce that names nobody still says why', async () => {
  const [one] = await reportsIn(plain('Delivery failure', 'The server said: 550 5.1.1 no such user here.'))
  assert.equal(one!.finalRecipient, null)
  assert.equal(classifyDsn(one!).class, 'hard')
})

test('a warning that it takes longer is no failure', async () => {
  const [one] = await reportsIn(
    plain('Delivery report', 'Your message has been delayed: 451 4.7.1 try later. You do not need to resend it.'),
  )
  assert.equal(one!.action, 'delayed')
})

test('a holiday notice, a person writing about errors, and an empty message are no reports', async () => {
  assert.deepEqual(
    await reportsIn([
      'From: postmaster@example.com',
      'Auto-Submitted: auto-replied',
      'Subject: Out of office',
      '',
      '550 miles away',
    ]),
    [],
  )
  assert.deepEqual(
    await reportsIn([
      'From: jane@example.com',
      'Subject: delivery failure',
      '',
      'I got "550 5.1.1 user unknown", why?',
    ]),
    [],
  )
  assert.deepEqual(await reportsIn(['']), [])
})
