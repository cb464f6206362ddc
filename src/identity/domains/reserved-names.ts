// Names under PLATFORM_DOMAIN that nobody may register: mail or links from them would pass for the installation's own.
// RFC 2142 names mailboxes that every domain has; the others are what people take for the service itself.
import { domainToUnicode } from 'node:url'

const RESERVED: ReadonlySet<string> = new Set(
  `
  abuse account accounts admin administrator alert alerts api auth autoconfig autodiscover billing bounce bounces cdn
  console contact dashboard dkim dmarc dns docs email feedback ftp help helpdesk host hostmaster identity imap imaps
  info internal invoice invoices legal localhost login logout mail mailer mailerdaemon mta mtasts mx mx1 mx2 nobody noc
  noreply ns ns1 ns2 oauth official openpgpkey operator operators owner pay payment payments pop pop3 portal postmaster
  privacy relay root security server service services signin signup smtp smtps spam spf sso staff status submission
  support sysadmin system tls trust unsubscribe usenet verify webhook webhooks webmail webmaster wpad www www1 www2
  `
    .trim()
    .split(/\s+/),
)

/** Letters of other alphabets that look like one of ours. */
const TWINS: Record<string, string> = Object.fromEntries(
  ['аa', 'сc', 'ԁd', 'еe', 'һh', 'іi', 'ıi', 'ӏl', 'ոn', 'оo', 'рp', 'ԛq', 'ѕs', 'տu', 'ѵv', 'ԝw', 'хx', 'уy'].map(
    ([twin, letter]) => [twin, letter],
  ),
)

/** Whether the name lies under the platform's domain with a reserved label right below it, alone or above others. */
export function isReservedName(name: string, platformDomain: string): boolean {
  if (!name.endsWith(`.${platformDomain}`)) return false
  const label = name
    .slice(0, -platformDomain.length - 1)
    .split('.')
    .at(-1)!
  return RESERVED.has(looks(label))
}

/** `no-reply` looks like `noreply`, and `ádmin` or one with a Cyrillic а like `admin`. */
const looks = (label: string): string =>
  Array.from(
    domainToUnicode(label)
      .normalize('NFKD')
      .replaceAll(/[\p{M}-]/gu, ''),
    char => TWINS[char] ?? char,
  ).join('')
