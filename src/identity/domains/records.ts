// The records that a domain's owner publishes.
import { dkimRecord } from '../../mail/dkim/sign.ts'
import type { Config } from '../../platform/config.ts'
import type { Purpose, StoredDomain } from './stored-domain.ts'

interface WantedRecord {
  purpose: Purpose
  type: 'TXT' | 'CNAME' | 'MX'
  name: string
  value: string
  priority: number | null
}

export type Hosts = Pick<Config, 'SPF_HOST' | 'RETURN_PATH_HOST' | 'MX_HOST' | 'POSTMASTER_ADDRESS'>

type Named = Pick<StoredDomain, 'name' | 'dkim_selector' | 'dkim_public_key'>

/** The usual choice of a single mail host; only its order among several matters. */
const MX_PRIORITY = 10

export function recordsOf(hosts: Hosts, { name, dkim_selector, dkim_public_key }: Named): WantedRecord[] {
  const txt = (purpose: Purpose, at: string, value: string) =>
    ({ purpose, type: 'TXT', name: at, value, priority: null }) as const
  return [
    txt('spf', name, `v=spf1 include:${hosts.SPF_HOST} ~all`),
    txt('dkim', `${dkim_selector}._domainkey.${name}`, dkimRecord(dkim_public_key)),
    // Reports go to the domain itself: to send them elsewhere, the other side must agree in DNS (RFC 7489 §7.1). Where
    // nobody is named to read them, none are asked for.
    txt(
      'dmarc',
      `_dmarc.${name}`,
      `v=DMARC1; p=none${hosts.POSTMASTER_ADDRESS === null ? '' : `; rua=mailto:postmaster@${name}`}`,
    ),
    { purpose: 'return_path', type: 'CNAME', name: `bounce.${name}`, value: hosts.RETURN_PATH_HOST, priority: null },
    { purpose: 'mx', type: 'MX', name, value: hosts.MX_HOST, priority: MX_PRIORITY },
  ]
}
