// ARC (RFC 8617): whether the forwarders of the mail vouch for what they saw. The seals are checked by mailauth, the newest
// message signature by our own DKIM. The result is recorded; it does not stand in for DMARC, because anybody can seal.
import type { RawMail } from './header-fields.ts'
import { arcLibrary } from './library.ts'
import { libraryResolver, observed } from './resolve.ts'
import { verifyArcMessageSignature, type Checking } from './verify-dkim.ts'

export type ArcResult = 'pass' | 'fail' | 'none' | 'temperror'

const ARC_FIELDS = ['arc-seal', 'arc-message-signature', 'arc-authentication-results']
/** A set is about 3 KB. Each seal covers all sets before it, so that the work grows with the square of what is let in. */
const BYTES_MAX = 65_536
const SETS_MAX = 50

export async function checkArc(mail: RawMail, checking: Checking): Promise<ArcResult> {
  const fields = ARC_FIELDS.flatMap(name => mail.byName.get(name) ?? [])
  if (fields.length === 0) return 'none'
  const bytes = fields.reduce((sum, { raw }) => sum + raw.length, 0)
  if (bytes > BYTES_MAX || fields.length > SETS_MAX * ARC_FIELDS.length) return 'fail'
  let hasFailedLookup = false
  const watched = observed(checking.resolve, reply => {
    if (reply.kind === 'failed') hasFailedLookup = true
  })
  const { arc, getARChain } = await arcLibrary()
  const parsed = fields.map(({ name, raw }) => ({ key: name, line: Buffer.from(raw, 'latin1') }))
  try {
    const chain = getARChain({ parsed }, { strict: true })
    if (!chain) return 'none'
    const lastEntry = chain.at(-1)!
    const newest = fields.find(({ name, raw }) => name === 'arc-message-signature' && instanceOf(raw) === lastEntry.i)
    if (!newest) return 'fail'
    const { result: ofMessage } = await verifyArcMessageSignature(mail, newest, { ...checking, resolve: watched })
    if (ofMessage !== 'pass') return hasFailedLookup ? 'temperror' : 'fail'
    Object.assign(lastEntry, { messageSignature: { status: { result: ofMessage } } })
    const { status } = await arc({ chain, lastEntry }, { resolver: libraryResolver(watched), strict: true })
    return status.result === 'pass' ? 'pass' : hasFailedLookup ? 'temperror' : 'fail'
  } catch {
    // The library throws for a chain whose parts do not fit together.
    return 'fail'
  }
}

const instanceOf = (raw: string): number => Number(/[:;]\s*i\s*=\s*(\d{1,2})\s*(?:;|$)/.exec(raw)?.[1])
