// One text per audit entry, the same when it is written and whenever it is read back: what the hash chain is made over.

export interface CanonicalFields {
  accountId: string | null
  tenantId: string | null
  actorType: string
  actorId: string | null
  actorName: string
  ip: string | null
  action: string
  targetType: string
  targetId: string
  /** JSON exactly as stored (column type `json` keeps the text). */
  before: string | null
  after: string | null
  requestId: string | null
  /** Microseconds since 1970, all that the column can hold, so that no change is too small to be seen. */
  createdAtMicros: string
}

export const canonicalEntry = (entry: CanonicalFields): string =>
  JSON.stringify([...contentFields(entry), entry.createdAtMicros])

/** The entry without its time, which is only known once the journal is locked. */
export const canonicalContent = (entry: Omit<CanonicalFields, 'createdAtMicros'>): string =>
  JSON.stringify(contentFields(entry))

const contentFields = (entry: Omit<CanonicalFields, 'createdAtMicros'>): (string | null)[] => [
  entry.accountId,
  entry.tenantId,
  entry.actorType,
  entry.actorId,
  entry.actorName,
  entry.ip,
  entry.action,
  entry.targetType,
  entry.targetId,
  entry.before,
  entry.after,
  entry.requestId,
]
