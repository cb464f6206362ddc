// What a new mail must be compared with where tainted threads wait for a person: mail that is not to be trusted must not be
// passed on, or answered under another name, without somebody having seen it.
import type { Db } from '../../platform/db/database.ts'
import type { Submission } from '../../sending/messages/submission.ts'
import { ALIKE_MS, subjectKey } from '../threads/subject-key.ts'
import { listTaintedSubjects, listTaintedTexts } from './original-queries.ts'
import type { Written } from './write.ts'

interface NewMail {
  inbox: { id: string }
  submission: Submission
  written: Written
  now: Date
}

export async function taintedTextsFor(
  db: Db,
  { inbox, submission, written, now }: NewMail,
): Promise<{ isJoining: boolean; texts: string[] }> {
  const since = new Date(now.getTime() - ALIKE_MS)
  const key = subjectKey(written.subject)
  const [texts, threads] = await Promise.all([
    listTaintedTexts(db, inbox.id),
    key === '' ? [] : listTaintedSubjects(db, { inboxId: inbox.id, subjectKey: key, since }),
  ])
  const recipients = new Set(submission.recipients.map(({ address }) => address.toLowerCase()))
  const isJoining = threads.some(({ participants }) => participants.some(address => recipients.has(address)))
  return { isJoining, texts: texts.flatMap(textsIn) }
}

/** A subject that is as long as a passage can carry an order; shorter ones are said by everybody. */
const SUBJECT_WORDS_MIN = 10

const textsIn = ({ subject, text, files }: { subject: string; text: string; files: string[] }): string[] => [
  text,
  ...files,
  ...(subject.split(/\s+/).length >= SUBJECT_WORDS_MIN ? [subject] : []),
]
