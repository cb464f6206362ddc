// Who sent a mail, as far as it can be proven: SPF, DKIM, DMARC and ARC. It asks DNS by the function it is given and never
// throws for what the mail contains.
import { checkArc, type ArcResult } from './arc.ts'
import { checkDmarc, type Dmarc } from './dmarc.ts'
import { readRawMail, type RawMail } from './header-fields.ts'
import type { RecentSpf } from './recent-spf.ts'
import type { Resolvers } from './resolve.ts'
import { checkSpf, type SpfResult } from './spf.ts'
import { verifyDkim, type DkimResult, type InSlices } from './verify-dkim.ts'

/** What the client said, and where it came from. `mailFrom` is empty for the null path. */
export interface Envelope {
  ip: string
  helo: string
  mailFrom: string
}

export interface Authentication {
  /** `aligned`: the domain is the author's. */
  spf: { result: SpfResult; domain: string | null; aligned: boolean }
  dkim: {
    /** The best of the signatures. */
    result: DkimResult
    signatures: { domain: string; selector: string; result: DkimResult; aligned: boolean }[]
  }
  dmarc: Omit<Dmarc, 'aligns'>
  arc: { result: ArcResult }
}

interface Options {
  resolvers: Resolvers
  /** Ours, for the macros of SPF. */
  hostname: string
  now: Date
  /** A signature need only have been good then, however long the mail waited to be checked (RFC 6376 §3.5, x=). */
  receivedAt: Date
  recentSpf: RecentSpf
  inSlices: InSlices
}

/** The source must not change until then. A large body is hashed in slices, so that others are not kept waiting. */
export async function authenticate(source: Buffer, envelope: Envelope, options: Options): Promise<Authentication> {
  const { resolvers } = options
  const mail = readRawMail(source)
  const [spf, proofs] = await Promise.all([
    checkSpf(envelope, { ...options, resolve: resolvers.spf, recent: options.recentSpf }),
    mail && checkContent(mail, options),
  ])
  if (!mail || !proofs) return unreadable(spf)
  const { signatures, arc } = proofs
  const fromFields = mail.byName.get('from') ?? []
  const { aligns, ...dmarc } = await checkDmarc(fromFields, { spf, signatures }, resolvers.dmarc)
  return {
    spf: { ...spf, aligned: spf.result === 'pass' && aligns.spf },
    dkim: {
      result: BEST_FIRST.find(best => signatures.some(({ result }) => result === best)) ?? 'none',
      signatures: signatures.map(each => ({ ...each, aligned: aligns.dkim(each.domain) })),
    },
    dmarc,
    arc: { result: arc },
  }
}

async function checkContent(mail: RawMail, { resolvers: { keys }, receivedAt, inSlices }: Options) {
  const checking = { resolve: keys, receivedAt, inSlices }
  const [signatures, arc] = await Promise.all([verifyDkim(mail, checking), checkArc(mail, checking)])
  return { signatures, arc }
}

const BEST_FIRST: readonly DkimResult[] = ['pass', 'temperror', 'fail', 'policy', 'permerror', 'neutral']

/** A header too long to be checked proves nothing. */
const unreadable = (spf: { result: SpfResult; domain: string | null }): Authentication => ({
  spf: { ...spf, aligned: false },
  dkim: { result: 'neutral', signatures: [] },
  dmarc: { result: 'permerror', policy: null, domain: null },
  arc: { result: 'none' },
})
