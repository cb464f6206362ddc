// The providers whose mailboxes can be connected: where they are, and what is asked of the person who agrees.
import type { Config } from '../../platform/config.ts'
import type { MailServer } from '../../platform/config-providers.ts'

export type ProviderName = 'google' | 'microsoft'

export interface Provider {
  name: ProviderName
  clientId: string
  clientSecret: string
  authUrl: string
  tokenUrl: string
  /** Null: it has none. */
  revokeUrl: string | null
  scopes: readonly string[]
  /** What the authorisation request says besides the usual. */
  authParameters: Readonly<Record<string, string>>
  /** Who says so in an id_token, in public. */
  issuerOrigin: string
  imap: MailServer
  smtp: MailServer
}

export type Providers = Record<ProviderName, Provider | null>

/** Null: not configured. */
export const providersOf = (config: Config): Providers => ({ google: googleOf(config), microsoft: microsoftOf(config) })

export const isProviderName = (text: string): text is ProviderName => text === 'google' || text === 'microsoft'

function googleOf(config: Config): Provider | null {
  const { GOOGLE_CLIENT_ID: clientId, GOOGLE_CLIENT_SECRET: clientSecret } = config
  if (clientId === null || clientSecret === null) return null
  return {
    name: 'google',
    clientId,
    clientSecret,
    authUrl: config.GOOGLE_AUTH_URL,
    tokenUrl: config.GOOGLE_TOKEN_URL,
    revokeUrl: config.GOOGLE_REVOKE_URL,
    scopes: ['openid', 'email', 'https://mail.google.com/'],
    // Without both, a person who has agreed before gets no refresh token.
    authParameters: { access_type: 'offline', prompt: 'consent' },
    issuerOrigin: 'https://accounts.google.com',
    imap: config.GOOGLE_IMAP,
    smtp: config.GOOGLE_SMTP,
  }
}

function microsoftOf(config: Config): Provider | null {
  const { MICROSOFT_CLIENT_ID: clientId, MICROSOFT_CLIENT_SECRET: clientSecret } = config
  if (clientId === null || clientSecret === null) return null
  return {
    name: 'microsoft',
    clientId,
    clientSecret,
    authUrl: config.MICROSOFT_AUTH_URL,
    tokenUrl: config.MICROSOFT_TOKEN_URL,
    revokeUrl: config.MICROSOFT_REVOKE_URL,
    scopes: [
      'openid',
      'email',
      'offline_access',
      'https://outlook.office.com/IMAP.AccessAsUser.All',
      'https://outlook.office.com/SMTP.Send',
    ],
    authParameters: { response_mode: 'query', prompt: 'select_account' },
    issuerOrigin: 'https://login.microsoftonline.com',
    imap: config.MICROSOFT_IMAP,
    smtp: config.MICROSOFT_SMTP,
  }
}
