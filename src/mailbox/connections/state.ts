// The state that travels through the browser of the admin: the id of a row, signed. What belongs to it stays here, sealed.
import { randomBytes } from 'node:crypto'
import type { Actor } from '../../platform/db/actor.ts'
import { isUuid } from '../../platform/ids.ts'
import { sameSecret, type Secrets } from '../../platform/secrets.ts'

export const STATE_MS = 600_000

export interface StateContent {
  /** Of PKCE. */
  verifier: string
  nonce: string
  /** Who asked for the connection. */
  by: Pick<Actor, 'type' | 'id' | 'name'>
  /** Of the key: another one after a rotation. */
  prefix: string
}

export const newContent = ({ type, id, name }: Actor, prefix: string): StateContent => ({
  verifier: randomBytes(32).toString('base64url'),
  nonce: randomBytes(16).toString('base64url'),
  by: { type, id, name },
  prefix,
})

export const signState = (secrets: Secrets, id: string): string => `${id}.${macOf(secrets, id)}`

/** The id; null when we did not write it. */
export function readState(secrets: Secrets, state: string): string | null {
  const [id, mac, rest] = state.split('.')
  if (!id || !mac || rest !== undefined || !isUuid(id)) return null
  return sameSecret(mac, macOf(secrets, id)) ? id : null
}

const macOf = (secrets: Secrets, id: string): string => secrets.mac('oauth-state', id).toString('base64url')

const rowOf = (id: string): string => `connect_states/${id}`

export const sealContent = (secrets: Secrets, id: string, content: StateContent): Buffer =>
  Buffer.from(secrets.seal(rowOf(id), JSON.stringify(content)))

export const openContent = (secrets: Secrets, id: string, sealed: Buffer): StateContent =>
  JSON.parse(secrets.open(rowOf(id), sealed.toString())) as StateContent
