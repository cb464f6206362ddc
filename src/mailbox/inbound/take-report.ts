// What a report from outside changes: a late bounce (RFC 3464), a complaint (RFC 5965), or nothing. Everything in it
// was written by strangers; only the token in an address says which delivery it may touch.
import { readArf, type ArfReport } from '../../mail/arf.ts'
import { classifyDsn, readDsn, type DsnReport } from '../../mail/dsn.ts'
import type { ParsedMail } from '../../mail/parsed-mail.ts'
import type { Secrets } from '../../platform/secrets.ts'
import type { World } from '../../platform/world.ts'
import { recordComplaintReport, recordLateBounce } from '../../sending/delivery/reports.ts'
import { findRecipient } from './queries.ts'
import { recogniseToken, type Recognised } from './recognise.ts'

/** The delivery a report is about; without `n` the report itself must name the recipient. */
interface About {
  messageId: string
  n: number | null
}

/** `ignored`: no report that we understand, or one that says nothing final. `unchanged`: known already. */
export type Taken = 'bounced' | 'complained' | 'unchanged' | 'ignored'

export async function takeReport(world: World, mail: ParsedMail, to: Recognised): Promise<Taken> {
  switch (to.kind) {
    case 'bounce': {
      // A receiver that sends complaints to the return path is as good as one that asks for an address.
      const complaint = isStatusReport(mail) ? null : readArf(mail)
      return complaint ? takeComplaint(world, complaint, to) : takeBounce(world, readDsn(mail), to)
    }
    case 'complaint': {
      const complaint = readArf(mail)
      return complaint ? takeComplaint(world, complaint, to) : 'ignored'
    }
    case 'role': {
      const complaint = to.name === 'abuse' ? readArf(mail) : null
      const about = complaint && aboutOf(world.secrets, complaint)
      return complaint && about ? takeComplaint(world, complaint, about) : 'ignored'
    }
  }
}

const isStatusReport = (mail: ParsedMail): boolean =>
  mail.attachments.some(({ contentType }) => /^message\/(?:global-)?delivery-status$/.test(contentType))

async function takeBounce(world: World, reports: readonly DsnReport[], about: About): Promise<Taken> {
  const { messageId, n } = about
  if (n === null) return takeSharedBounce(world, reports, messageId)
  const report = await reportAbout(world, reports, { messageId, n })
  // Delayed is no verdict, and delivered is what we believed.
  if (report?.action !== 'failed') return 'ignored'
  const late = { messageId, n, recipient: null, reply: report.reply, ...classifyDsn(report) }
  return (await recordLateBounce(world, late)) ? 'bounced' : 'unchanged'
}

/** The report on our recipient: the only one, or, where an alias led to several, the one that names the address. */
async function reportAbout(
  world: World,
  reports: readonly DsnReport[],
  delivery: { messageId: string; n: number },
): Promise<DsnReport | null> {
  if (reports.length <= 1) return reports[0] ?? null
  const recipient = (await findRecipient(world.db, delivery))?.toLowerCase()
  return reports.find(report => recipient !== undefined && namesOf(report).includes(recipient)) ?? null
}

const namesOf = ({ originalRecipient, finalRecipient }: DsnReport): string[] =>
  [originalRecipient, finalRecipient].flatMap(name => (name === null ? [] : [name.toLowerCase()]))

async function takeSharedBounce(world: World, reports: readonly DsnReport[], messageId: string): Promise<Taken> {
  let taken: Taken = 'ignored'
  for (const report of reports) {
    if (report.action !== 'failed') continue
    const { originalRecipient, finalRecipient, reply } = report
    // The original is what we wrote; the final one may be where a forwarding led to.
    for (const recipient of new Set([originalRecipient, finalRecipient])) {
      if (recipient === null) continue
      const late = { messageId, n: null, recipient, reply, ...classifyDsn(report) }
      if (await recordLateBounce(world, late)) taken = 'bounced'
      else if (taken === 'ignored') taken = 'unchanged'
    }
  }
  return taken
}

/** Neither is a complaint: a mail taken out of the spam folder, and a report on signatures (RFC 6591). */
const NO_COMPLAINTS = new Set(['not-spam', 'auth-failure'])

async function takeComplaint(world: World, report: ArfReport, { messageId, n }: About): Promise<Taken> {
  if (NO_COMPLAINTS.has(report.feedbackType)) return 'ignored'
  const recipients = n === null ? report.originalRecipients : [null]
  let taken: Taken = 'ignored'
  for (const recipient of recipients) {
    const changed = await recordComplaintReport(world, { messageId, n, recipient, detail: report.feedbackType })
    if (changed) taken = 'complained'
    else if (taken === 'ignored') taken = 'unchanged'
  }
  return taken
}

const TOKEN = /(?<![a-z0-9])[bc]-[a-z2-7]{32}-[a-z2-7]{16}(?![a-z0-9])/gi
const TOKENS_MAX = 20

/** Receivers take the recipient out of what they send to abuse@; our own token in the message still tells. */
function aboutOf(secrets: Secrets, { originalMailFrom, returnPath, originalHeader }: ArfReport): About | null {
  const places = [originalMailFrom, returnPath, ...originalHeader.map(({ value }) => value)]
  const tokens = places.flatMap(place => [...(place ?? '').matchAll(TOKEN)]).slice(0, TOKENS_MAX)
  for (const [token] of tokens) {
    const found = recogniseToken(secrets, token)
    if (found) return found
  }
  return null
}
