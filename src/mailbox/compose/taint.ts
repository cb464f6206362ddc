// What a new mail must be compared with where tainted threads wait for a person: mail that is not to be trusted must not be
// passed on, or answered under another name, without somebody having seen it.
import type { Db } from '../../platform/db/database.ts'
import type { Tainted } from '../tainted/quotes.ts'
import { findTainted, type Reader } from '../tainted/find.ts'
import { ALIKE_MS, subjectKey } from '../threads/subject-key.ts'
import type { ComposedMail } from './mail.ts'
import { listTaintedSubjects } from './original-queries.ts'

interface NewMail extends Pick<ComposedMail, 'submission' | 'written' | 'at'> {
  inboxId: string
}

/** Null: it must wait, whatever it says. It joins a tainted thread, or there is more than it can be compared with. */
export async function taintedFor(db: Db, mail: NewMail & Reader): Promise<Tainted | null> {
  const [tainted, isJoining] = await Promise.all([findTainted(db, mail), joinsTainted(db, mail)])
  return isJoining ? null : tainted
}

/** Whether a new mail would be filed in a tainted thread, by its subject and whom it goes to. */
export async function joinsTainted(db: Db, { inboxId, submission, written, at }: NewMail): Promise<boolean> {
  const key = subjectKey(written.subject)
  if (key === '') return false
  const since = new Date(at.getTime() - ALIKE_MS)
  const threads = await listTaintedSubjects(db, { inboxId, subjectKey: key, since })
  const recipients = new Set(submission.recipients.map(({ address }) => address.toLowerCase()))
  return threads.some(({ participants }) => participants.some(address => recipients.has(address)))
}
