// Tells apart the ways a statement fails: the database is away (503, try again), two transactions collided (we try
// again ourselves), a constraint said no (the recipe decides), or a bug.
import { refuse, Refusal } from '../refusal.ts'

interface DatabaseError {
  code?: string
  message?: string
  constraint?: string
}

const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'ECONNABORTED',
  'EADDRNOTAVAIL',
  'ENOTFOUND',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57014', // query_canceled: our statement_timeout
  '25P03', // idle_in_transaction_session_timeout
  '25006', // read_only_sql_transaction: a demoted primary counts as away
  '53000', // insufficient_resources
  '53300', // too_many_connections
  '53100', // disk_full
  '53200', // out_of_memory
])

/** The driver reports lost connections by message only. */
const AWAY_MESSAGES = [
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed',
  'timeout exceeded when trying',
  'timeout expired',
  'There was an error establishing an SSL connection',
  'Query read timeout',
  'Cannot use a pool after',
  'read ECONNRESET',
]

/** The database is away, or will not take this statement now: the same call may succeed later. */
export function isAway(error: unknown): boolean {
  const { code, message = '' } = (error ?? {}) as DatabaseError
  if (typeof code === 'string' && (AWAY_CODES.has(code) || code.startsWith('08'))) return true
  return AWAY_MESSAGES.some(beginning => message.startsWith(beginning))
}

/** It answers, but not to this statement: nothing that was committed before can be in doubt. */
const BUSY_CODES = new Set(['57014', '25P03', '53000', '53300', '53100', '53200'])

/** Unavailable, and the connection or the server behind it is gone: what it had not yet written to disk may be, too. */
export const isLost = (error: unknown): boolean =>
  isAway(error) && !BUSY_CODES.has((error as DatabaseError).code ?? '') && !isShutPool(error)

/** Our own end, at shutdown. */
const isShutPool = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('Cannot use a pool after')

/** Deadlock or serialization failure: the same recipe succeeds when run again. */
export function isCollision(error: unknown): boolean {
  const { code } = (error ?? {}) as DatabaseError
  return code === '40P01' || code === '40001'
}

/** Thrown by a recipe that finds its own look-ups overtaken: it is run again. */
export const collision = (message: string): Error => Object.assign(new Error(message), { code: '40001' })

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  const { code, constraint: violated } = (error ?? {}) as DatabaseError
  return code === '23505' && violated === constraint
}

/** What a caller is told while the database is away. */
export const unavailable = (cause: unknown): Refusal =>
  refuse('unavailable', 'The service is temporarily unavailable. Try again shortly.', { retryAfterSeconds: 2, cause })

/** What a transaction throws while the database is away; anything else is the statement's own fault. */
export const isUnavailable = (error: unknown): boolean => error instanceof Refusal && error.code === 'unavailable'

/** The statement took too long. Where others are answered, that is its own doing: it asks for too much at once. */
export const isTimedOut = (error: unknown): boolean =>
  isUnavailable(error) && ((error as Refusal).cause as DatabaseError | undefined)?.code === '57014'

/** Unavailable because this process has closed its connections: the same call never succeeds again. */
export const isClosed = (error: unknown): boolean => isUnavailable(error) && isShutPool((error as Refusal).cause)
