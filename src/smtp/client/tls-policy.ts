// What a connection to a host must prove about its encryption before mail goes over it.
import type { Tlsa } from '../../platform/net/dns.ts'

export type TlsPolicy = {
  /** Connections opened under the same key are alike. */
  key: string
} & (
  | { kind: 'opportunistic' } // encrypt if the server can; nobody is verified (RFC 7435)
  | { kind: 'required' } // encrypt or do not send
  | { kind: 'verified' } // and the certificate must be valid for the host (MTA-STS, RFC 8461 §4.2)
  | { kind: 'dane'; records: readonly Tlsa[]; name: string } // and the certificate must match DNS at that name (RFC 7672)
)

export const OPPORTUNISTIC: TlsPolicy = { kind: 'opportunistic', key: 'opportunistic' }
export const REQUIRED: TlsPolicy = { kind: 'required', key: 'required' }
export const VERIFIED: TlsPolicy = { kind: 'verified', key: 'verified' }

/** Whether a connection opened under one policy serves another. */
export function satisfies(connection: { policyKey: string; isTls: boolean }, policy: TlsPolicy): boolean {
  if (connection.policyKey === policy.key || policy.kind === 'opportunistic') return true
  return policy.kind === 'required' && connection.isTls
}
