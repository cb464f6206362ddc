// Variables of the providers of connected mailboxes. Without a client id and its secret a provider is not configured; the
// rest is where the provider is, for stand-ins and for clouds apart.
import { isThisMachine, Mistake, nonEmpty, secret, secureUrl, variable, type Read } from './config-variable.ts'

/** A mail server of a provider. */
export interface MailServer {
  host: string
  port: number
  /** TLS, with a valid certificate. */
  secure: boolean
}

const GOOGLE_AUTH_URL = 'https://accounts.google.com/o/oauth2/v2/auth'
const GOOGLE_TOKEN_URL = 'https://oauth2.googleapis.com/token'
const GOOGLE_REVOKE_URL = 'https://oauth2.googleapis.com/revoke'
const MICROSOFT_AUTH_URL = 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize'
const MICROSOFT_TOKEN_URL = 'https://login.microsoftonline.com/common/oauth2/v2.0/token'

export const providerVariables = {
  GOOGLE_CLIENT_ID: variable('none', 'connected mailboxes: OAuth client at Google', nonEmpty, null),
  GOOGLE_CLIENT_SECRET: variable('none', 'its secret', secret(8), null),
  GOOGLE_AUTH_URL: variable(GOOGLE_AUTH_URL, 'where a person agrees', secureUrl, GOOGLE_AUTH_URL),
  GOOGLE_TOKEN_URL: variable(GOOGLE_TOKEN_URL, 'where tokens come from', secureUrl, GOOGLE_TOKEN_URL),
  GOOGLE_REVOKE_URL: variable(GOOGLE_REVOKE_URL, 'where tokens are revoked', secureUrl, GOOGLE_REVOKE_URL),
  GOOGLE_IMAP: variable('imap.gmail.com:993', 'IMAP server', mailServer('imap'), tls('imap.gmail.com', 993)),
  GOOGLE_SMTP: variable('smtp.gmail.com:465', 'SMTP server', mailServer('smtp'), tls('smtp.gmail.com', 465)),
  MICROSOFT_CLIENT_ID: variable('none', 'connected mailboxes: OAuth client at Microsoft', nonEmpty, null),
  MICROSOFT_CLIENT_SECRET: variable('none', 'its secret', secret(8), null),
  MICROSOFT_AUTH_URL: variable(MICROSOFT_AUTH_URL, 'where a person agrees', secureUrl, MICROSOFT_AUTH_URL),
  MICROSOFT_TOKEN_URL: variable(MICROSOFT_TOKEN_URL, 'where tokens come from', secureUrl, MICROSOFT_TOKEN_URL),
  MICROSOFT_REVOKE_URL: variable('none', 'where tokens are revoked', secureUrl, null),
  MICROSOFT_IMAP: variable(
    'outlook.office365.com:993',
    'IMAP server',
    mailServer('imap'),
    tls('outlook.office365.com', 993),
  ),
  MICROSOFT_SMTP: variable('smtp.office365.com:587', 'SMTP server', mailServer('smtp'), tls('smtp.office365.com', 587)),
}

function tls(host: string, port: number): MailServer {
  return { host, port, secure: true }
}

/** `host:port` is TLS; with the scheme it is clear text, and tokens go there in clear. */
function mailServer(scheme: 'imap' | 'smtp'): Read<MailServer> {
  return text => {
    const isClear = text.startsWith(`${scheme}://`)
    const url = isClear ? text : `${scheme}://${text}`
    const parsed = URL.canParse(url) ? new URL(url) : null
    if (!parsed?.hostname || !parsed.port || /[/@?#]/.test(url.slice(scheme.length + 3)))
      throw new Mistake(`must be host:port, or ${scheme}://host:port on this machine, not "${text}"`)
    if (isClear && !isThisMachine(parsed.hostname))
      throw new Mistake(`must be host:port, with TLS: without it the server must be on this machine`)
    return { host: parsed.hostname.replace(/^\[|\]$/g, ''), port: Number(parsed.port), secure: !isClear }
  }
}
