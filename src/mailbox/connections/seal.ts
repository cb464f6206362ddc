// What is secret of a connection, sealed and bound to its row and its grant: copied elsewhere it does not open.
import type { Secrets } from '../../platform/secrets.ts'

interface TokenRow {
  inbox_id: string
  generation: number
  kind: 'refresh' | 'access'
}

const nameOf = ({ inbox_id, generation, kind }: TokenRow): string => `connections/${inbox_id}/${generation}/${kind}`

export const sealToken = (secrets: Secrets, row: TokenRow, token: string): Buffer =>
  Buffer.from(secrets.seal(nameOf(row), token))

export const openToken = (secrets: Secrets, row: TokenRow, sealed: Buffer): string =>
  secrets.open(nameOf(row), sealed.toString())
