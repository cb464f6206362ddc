// What is secret of a connection, sealed and bound to its row and its grant: copied elsewhere it does not open.
import type { Secrets } from '../../platform/secrets.ts'

interface Place {
  inboxId: string
  generation: number
  kind: 'refresh' | 'access'
}

const rowOf = ({ inboxId, generation, kind }: Place): string => `connections/${inboxId}/${generation}/${kind}`

export const sealToken = (secrets: Secrets, place: Place, token: string): Buffer =>
  Buffer.from(secrets.seal(rowOf(place), token))

export const openToken = (secrets: Secrets, place: Place, sealed: Buffer): string =>
  secrets.open(rowOf(place), sealed.toString())
