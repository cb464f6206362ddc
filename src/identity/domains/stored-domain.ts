// A domain as it is kept, with what the last look at DNS found for each of its records.

/** The records of a domain, in the order they are shown. */
export const PURPOSES = ['spf', 'dkim', 'dmarc', 'return_path', 'mx'] as const
export type Purpose = (typeof PURPOSES)[number]

export const STATES = ['missing', 'wrong', 'ok'] as const
type RecordState = (typeof STATES)[number]

export interface Finding {
  state: RecordState
  /** What of the values concerns this record. */
  found: string[]
  problem: string | null
  /** False: DNS gave no answer at the last look; `state` and `found` are older. */
  isAnswered: boolean
}

/** Empty until DNS was looked at. */
export interface Findings {
  records?: Record<Purpose, Finding>
  /** At the last look everything was in place, but the name was verified by somebody else. */
  isTaken?: boolean
  /** Daily checks in a row that a verified domain has failed. */
  failures?: number
}

export interface StoredDomain {
  id: string
  account_id: string
  tenant_id: string
  name: string
  /** Under PLATFORM_DOMAIN: published by the installation itself. */
  is_platform: boolean
  dkim_selector: string
  dkim_public_key: string
  findings: Findings
  checked_at: Date | null
  verified_at: Date | null
  mx_verified_at: Date | null
  inbound_enabled: boolean
  failing_since: Date | null
  created_at: Date
}

/** Where the private key lives, as its sealing knows it. */
export const keyRow = (domainId: string): string => `domains/${domainId}/dkim`
