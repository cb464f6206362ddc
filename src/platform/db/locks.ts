// Every advisory lock of the installation, in one place so that no two uses share a number. "SLCE" in the high half, or
// "SR" in the high quarter.
import type { Tx } from './database.ts'
import { prepared } from './sql.ts'

/** Of ids that a transaction has reserved in the journal: the key is this and the first of them, which has 48 bits. */
export const RESERVED_EVENTS = 0x5352
export const reservedEvents = (BigInt(RESERVED_EVENTS) << 48n).toString()

/** The first part of two-part keys; the second is an account. Around pauses (`control/suspensions/locks.ts`). */
export const PAUSE_LOCKS = 0x5041

const lock = (number: number): string => (0x534c4345n * 0x1_0000_0000n + BigInt(number)).toString()

export const locks = {
  /** Locked while a migration runs. */
  migrate: lock(1),
  /** Locked from the append of events and audit entries until their commit: ids follow commit order. */
  journal: lock(2),
  /** Locked by the one process that seals the audit chain. */
  auditSeal: lock(3),
  /** Locked while the first start creates the sandbox account. */
  demo: lock(4),
  /** Locked while the account that the installation sends from is made. */
  operatorMail: lock(6),
  /** Locked while a process looks at what the rules watch and takes the lease of the pass. */
  guardian: lock(5),
  /** Locked by the one acceptance of large messages that may store its rows at a time; taken before `journal`. */
  largeAppend: lock(7),
  /** Locked while a name under PLATFORM_DOMAIN is taken, so that two that lie under each other see each other. */
  platformNames: lock(8),
  /** Locked while an event of the payment provider is processed. */
  payments: lock(20),
} as const

/** Until the end of the transaction. */
export const takeLock = async (tx: Tx, one: (typeof locks)[keyof typeof locks]): Promise<void> => {
  await tx.run(prepared`select pg_advisory_xact_lock(${one})`)
}
