// Reports for the tests as lines: on deliveries that failed, and complaints.

/** A status report by RFC 3464 with these groups of fields. */
export const dsn = (...recipients: string[][]): string[] => dsnSaying(['It did not work.'], ...recipients)

/** A status report with these lines for people. */
export const dsnSaying = (notice: readonly string[], ...recipients: string[][]): string[] => [
  'From: Mail Delivery System <MAILER-DAEMON@mx.example.com>',
  'Subject: Undelivered Mail Returned to Sender',
  'Auto-Submitted: auto-replied',
  'MIME-Version: 1.0',
  'Content-Type: multipart/report; report-type=delivery-status; boundary="b1"',
  '',
  '--b1',
  '',
  ...notice,
  '--b1',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.example.com',
  ...recipients.flatMap(fields => ['', ...fields]),
  '',
  '--b1--',
]

export const failed = (recipient: string, status = '5.1.1', diagnostic = '550 5.1.1 User unknown'): string[] => [
  `Final-Recipient: rfc822; ${recipient}`,
  'Action: failed',
  `Status: ${status}`,
  `Diagnostic-Code: smtp; ${diagnostic}`,
]

/** A complaint by RFC 5965 about a message with this header. */
export const arf = (report: string[], original: string[] = ['Subject: Hello']): string[] => [
  'From: fbl@example.com',
  'Subject: FW: Hello',
  'MIME-Version: 1.0',
  'Content-Type: multipart/report; report-type=feedback-report; boundary="b1"',
  '',
  '--b1',
  '',
  'This is an abuse report.',
  '--b1',
  'Content-Type: message/feedback-report',
  '',
  ...report,
  '',
  '--b1',
  'Content-Type: message/rfc822',
  '',
  ...original,
  '',
  'Hello',
  '--b1--',
]
