// Who does what is being done: written into the audit log with every change.

export interface Actor {
  type: 'api_key' | 'operator' | 'smtp_credential' | 'recipient' | 'contact' | 'system'
  id: string | null
  name: string
  ip: string | null
  requestId: string | null
  /** What the endpoint's contract calls this act, e.g. `tenant.update`. */
  action: string | null
}

/** A worker or a start-up step acting on its own. */
export const system = (name: string): Actor => ({
  type: 'system',
  id: null,
  name,
  ip: null,
  requestId: null,
  action: null,
})
