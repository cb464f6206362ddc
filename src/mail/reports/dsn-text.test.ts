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

/** The class of the one recipient that a bounce in these words is about. */
async function classOf(...body: string[]): Promise<string> {
  const reports = await reportsIn(plain('Undelivered Mail Returned to Sender', ...body))
  assert.equal(reports.length, 1, body.join(' / '))
  return classifyDsn(reports[0]!).class
}

test('an answer is read across the lines it was broken over', async () => {
  const host = '<jane@example.com>: host mx1.example.com[192.0.2.7] said: '
  assert.equal(
    await classOf(`${host}550`, '    <jane@example.com>: User unknown (in reply to RCPT TO command)'),
    'hard',
  )
  assert.equal(await classOf(`${host}550 5.1.1`, '    <jane@example.com>... not here'), 'hard')
  assert.equal(await classOf(`${host}550-5.7.1`, '    likely 550-5.7.1 unsolicited 550', '    5.7.1 mail.'), 'block')
})

test('codes in odd places are found, and numbers that are none are not', async () => {
  for (const answer of [
    '550: <jane@example.com>: User unknown',
    '550: 5.1.1 <jane@example.com>: nobody here by that name',
    'ERROR_CODE :550, ERROR_CODE :5.1.1 <jane@example.com>... User Unknown',
    "5.1.0 - Unknown address error 550-'5.4.1 Recipient address rejected: Access denied.'",
    'Sorry, no mailbox here by that name. (#5.1.1)',
    '5.1.1 <jane@example.com>... User Unknown',
    '--> RCPT To:<jane@example.com>\r\n<-- 550 Unknown user',
    'I said RCPT To, and mx.example.com responded with 550 user unknown',
    '550 5.0.350 Remote server returned an error -> 550 5.1.10 not there',
  ]) {
    assert.equal(await classOf('<jane@example.com>:', answer), 'hard', answer)
  }
  assert.equal(await classOf('<jane@example.com>:', 'Your message of 550 Kbytes is too large.'), 'soft')
  const [call] = await reportsIn(plain('failure notice', '<jane@example.com>:', 'It failed. Call us at 480-624-2500.'))
  assert.equal(call!.reply.code, 500)
})

test('without a code the words decide', async () => {
  assert.equal(await classOf('<jane@example.com>:', 'User has exceeded the quota of the mailbox.'), 'soft')
  assert.equal(await classOf('<jane@example.com>:', "The user's mailfolder is full."), 'soft')
  assert.equal(await classOf('The message could not be delivered.', '', 'Unknown user: jane@example.com'), 'hard')
  assert.equal(await classOf('Your message to jane@example.com was undeliverable.'), 'soft')
})

test('whoever gave up is judged by what was said before', async () => {
  const gaveUp = (said: string): Promise<string> =>
    classOf('<jane@example.com>:', said, "I'm not going to try again; this message has been in the queue too long.")
  assert.equal(await gaveUp('Connected to 192.0.2.7 but greeting failed.'), 'soft')
  assert.equal(await gaveUp('Remote host said: 451 4.7.1 your IP address has a poor reputation'), 'block')
  assert.equal(await gaveUp('Remote host said: 450 4.1.1 User unknown in the table of mailboxes'), 'hard')
})

test('vague answers are explained by the words around them', async () => {
  const body = ['<jane@example.com>', '', '----- Transcript of session follows -----', 'mail.local: unknown user: jane']
  assert.equal(await classOf(...body, '554 <jane@example.com>... Service unavailable'), 'hard')
})

test('a transcript that names its recipients at the end of each dialogue', async () => {
  const reports = await reportsIn(
    plain(
      'Returned mail: User unknown',
      '   ----- Transcript of session follows -----',
      'While talking to mx.example.com:',
      '>>> RCPT To:<jane@example.com>',
      '<<< 550 No such user here.',
      '550 <jane@example.com>... User unknown',
      '550 <john@example.org>... Host unknown',
      '   ----- Unsent message follows -----',
      'Received: from nowhere',
      '550 5.7.1 <max@example.net>... blocked',
    ),
  )
  assert.deepEqual(
    reports.map(one => [one.finalRecipient, classifyDsn(one).class]),
    [
      ['jane@example.com', 'hard'],
      ['john@example.org', 'hard'],
    ],
  )
})

test('what the returned message says is never the reason', async () => {
  for (const opening of [
    '--- Below this line is a copy of the message.',
    '------ This is a copy of the message, including all the headers. ------',
    '   ----- Original message -----',
    'Possibly truncated original message follows:',
    '--- The header of the original message is following. ---',
    'Message headers follow.',
    'Return-Path: <hello@acme.example>',
  ]) {
    const returned = [opening, '', '<jane@example.com>: 550 5.1.1 User unknown', '> 550 5.1.1 User unknown']
    assert.equal(await classOf('<jane@example.com>:', 'It did not work out.', '', ...returned), 'soft', opening)
  }
  assert.equal(await classOf('<jane@example.com>:', 'It did not work.', '> 550 5.1.1 User unknown'), 'soft')
})

test('mail systems that call themselves automatic answers are believed, mailboxes are not', async () => {
  const answered = (from: string, subject: string, ...body: string[]): string[] => [
    'Return-Path: <>',
    `From: ${from}`,
    'Auto-Submitted: auto-replied',
    `Subject: ${subject}`,
    '',
    ...body,
  ]
  const failure = ['Your message could not be delivered.', '', '550 5.1.1 User unknown']
  const [one] = await reportsIn(answered('mailer-daemon@mx.example.net', 'Delivery Status Notification', ...failure))
  assert.equal(classifyDsn(one!).class, 'hard')
  for (const notes of [
    answered('Jane <jane@example.com>', 'Away until May', 'Back soon.', '550 5.1.1 User unknown'),
    answered('Jane <jane@example.com>', 'Undeliverable: Hi', ...failure),
    answered('postmaster@example.com', 'Automatic reply: Undeliverable', ...failure),
    ['Return-Path: <>', 'From: jane@example.com', 'X-Autoreply: yes', 'Subject: Mail delivery', '', ...failure],
    ['Return-Path: <>', 'From: jane@example.com', 'Subject: Please confirm', '', 'It has not been delivered yet.'],
    ['Return-Path: <>', 'From: jane@example.com', 'Subject: Fwd: Returned mail', '', 'See below.', ...failure],
  ]) {
    assert.deepEqual(await reportsIn(notes), [])
  }
})

test('a warning is no bounce, however it is worded', async () => {
  for (const [subject, text] of [
    ['Warning: message 1abc delayed 24 hours', 'A message that you sent has not yet been delivered.'],
    ['Delayed Mail (still being retried)', 'THIS IS A WARNING ONLY. <jane@example.com>: 450 4.2.0 busy'],
    ['Delivery Status Notification (Delay)', 'Message will be retried for 2 more day(s)'],
    ['Delivery failure', 'jane@example.com: Delivery attempts will continue to be made for 5 day(s).'],
    ['Delivery incomplete', 'There was a temporary problem. We will retry for 47 more hours. 550 5.1.1 no'],
  ]) {
    for (const one of await reportsIn(plain(subject!, text!))) assert.equal(one.action, 'delayed', subject)
  }
})

test('a bounce in HTML alone, and one whose boundary never comes', async () => {
  const [html] = await reportsIn([
    ...plain('failure notice').slice(0, -1),
    'Content-Type: text/html',
    '',
    '<html><head><style>p { color: red }</style></head><p>We were unable to deliver your message.<p>jane@example.com<br>',
    'No such user<br>&lt;hr&gt;',
  ])
  assert.deepEqual([html!.finalRecipient, classifyDsn(html!).class], ['jane@example.com', 'hard'])
  const [lost] = await reportsIn([
    ...plain('failure notice').slice(0, -1),
    'Content-Type: multipart/report; report-type=delivery-status; boundary="one"',
    '',
    '--other',
    '',
    'Final-Recipient: rfc822; jane@example.com',
    'Action: expired',
    'Status: 5.2.2',
  ])
  assert.deepEqual(
    [lost!.finalRecipient, lost!.action, classifyDsn(lost!).class],
    ['jane@example.com', 'failed', 'soft'],
  )
})
