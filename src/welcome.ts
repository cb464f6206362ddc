// What `npm start` tells the person who ran it.
import { join } from 'node:path'
import type { Demo } from './demo.ts'
import type { Config } from './platform/config.ts'

interface SmtpPorts {
  submission: number | null
  mx: number | null
}

export function welcome(
  config: Config,
  { url, ports, demo }: { url: string | null; ports: SmtpPorts; demo: Demo | null },
): string {
  const base = url ?? 'no HTTP in this process'
  const token = config.ADMIN_TOKEN ? 'ADMIN_TOKEN' : join(config.DATA_DIR, 'operator-token')
  const lines = [
    '',
    '  Sluice is ready.',
    '',
    `  API             ${base}`,
    ...(url ? [`  API reference   ${base}/docs`] : []),
    ...smtpLines(config, ports),
    `  Operator token  in ${token}`,
    `  Data            ${config.DATA_DIR}`,
  ]
  if (demo) for (const line of ['', ...introduction(base, demo)]) lines.push(line)
  return `${lines.join('\n')}\n\n`
}

const smtpLines = ({ HOST }: Config, { submission, mx }: SmtpPorts): string[] => [
  ...(submission === null ? [] : [`  SMTP            ${HOST}:${submission} (submission: STARTTLS, AUTH)`]),
  ...(mx === null ? [] : [`  Inbound SMTP    ${HOST}:${mx}`]),
]

const introduction = (base: string, demo: Demo): string[] => [
  `  A sandbox account is ready: nothing it sends leaves this machine.`,
  '',
  `  Tenant          ${demo.tenantName} (${demo.tenantId})`,
  `  Domain          ${demo.domain} (verified)`,
  `  Inbox           ${demo.inboxAddress} (${demo.inboxId})`,
  `  API key         ${demo.bearer}`,
  `                  (an admin key; shown this once)`,
  '',
  '  Send a first message, then see what became of it (bounce@example.com would bounce):',
  '',
  `  curl ${base}/v1/messages -H 'Authorization: Bearer ${demo.bearer}' \\`,
  `    -H 'Content-Type: application/json' \\`,
  `    -d '{"tenant_id": "${demo.tenantId}", "from": "hello@${demo.domain}",`,
  `         "to": ["someone@example.com"], "subject": "Hello", "text": "It works."}'`,
  '',
  `  curl ${base}/v1/messages -H 'Authorization: Bearer ${demo.bearer}'`,
  '',
  '  Mail the inbox, then read it:',
  '',
  `  curl ${base}/v1/messages -H 'Authorization: Bearer ${demo.bearer}' \\`,
  `    -H 'Content-Type: application/json' \\`,
  `    -d '{"tenant_id": "${demo.tenantId}", "from": "someone@${demo.domain}",`,
  `         "to": ["${demo.inboxAddress}"], "subject": "Hello", "text": "To the inbox."}'`,
  '',
  `  curl ${base}/v1/inboxes/${demo.inboxId}/messages -H 'Authorization: Bearer ${demo.bearer}'`,
]
