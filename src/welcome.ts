// What `npm start` tells the person who ran it.
import { join } from 'node:path'
import type { Demo } from './demo.ts'
import type { Config } from './platform/config.ts'

export function welcome(config: Config, url: string | null, demo: Demo | null): string {
  const base = url ?? 'no HTTP in this process'
  const token = config.ADMIN_TOKEN ? 'ADMIN_TOKEN' : join(config.DATA_DIR, 'operator-token')
  const lines = [
    '',
    '  Sluice is ready.',
    '',
    `  API             ${base}`,
    ...(url ? [`  API reference   ${base}/docs`] : []),
    `  Operator token  in ${token}`,
    `  Data            ${config.DATA_DIR}`,
  ]
  if (demo) lines.push('', ...introduction(base, demo))
  return `${lines.join('\n')}\n\n`
}

const introduction = (base: string, demo: Demo): string[] => [
  `  A sandbox account is ready: nothing it sends leaves this machine.`,
  '',
  `  Tenant          ${demo.tenantName} (${demo.tenantId})`,
  `  API key         ${demo.bearer}`,
  `                  (an admin key; shown this once)`,
  '',
  '  Try it:',
  '',
  `  curl ${base}/v1/tenants -H 'Authorization: Bearer ${demo.bearer}'`,
]
