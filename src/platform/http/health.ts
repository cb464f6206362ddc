// Is the process alive, and may it take traffic? Readiness is a list of named checks; what fails is named in the
// answer.
import type { Db } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { inTime } from '../in-time.ts'
import type { World } from '../world.ts'
import { anyone, get, reply, route, type Route } from './contract.ts'
import { Type } from './type.ts'

export interface ReadinessCheck {
  name: string
  /** Null when all is well, else what is wrong, in words for an operator. */
  run(): Promise<string | null>
}

/** More, and windows, leases and schedules of several machines would no longer agree. */
const SKEW_MS_MAX = 5_000
/** Probes come from several sides at once; they share one look. */
const REMEMBER_MS = 500
const CHECK_MS_MAX = 3_000

const healthzEndpoint = get('/healthz', {
  summary: 'The process is alive',
  access: anyone,
  replies: { 200: Type.Object({ status: Type.Literal('ok') }) },
})

const Checks = Type.Record(Type.String(), Type.String())

const readyzEndpoint = get('/readyz', {
  summary: 'The process may take traffic',
  access: anyone,
  replies: {
    200: Type.Object({ status: Type.Literal('ready'), checks: Checks }),
    503: Type.Object({ error: Type.Object({ code: Type.String(), message: Type.String() }), checks: Checks }),
  },
})

export function healthRoutes(checks: readonly ReadinessCheck[]): Route[] {
  const look = remember(() => runChecks(checks))
  return [
    route(healthzEndpoint, async () => reply(200, { status: 'ok' as const })),
    route(readyzEndpoint, async () => {
      const results = await look()
      const failing = Object.entries(results).filter(([, result]) => result !== 'ok')
      if (failing.length === 0) return reply(200, { status: 'ready' as const, checks: results })
      const message = `Not ready: ${failing.map(([name, result]) => `${name} (${result})`).join(', ')}.`
      return reply(503, { error: { code: 'unavailable', message }, checks: results }, { 'retry-after': '2' })
    }),
  ]
}

/** The database answers, keeps what it acknowledges, takes writes, and agrees with us about the time. */
export const databaseChecks = ({ db }: World): ReadinessCheck[] => [
  { name: 'database', run: async () => (await db.many(sql`select 1`)) && null },
  { name: 'durability', run: () => durabilityFault(db) },
  {
    name: 'clock',
    run: async () => {
      const skew = Math.abs((await db.clockSkew()).aheadMs)
      return skew > SKEW_MS_MAX ? `differs from the database's by ${Math.round(skew / 1000)} s` : null
    },
  },
]

async function durabilityFault(db: Db): Promise<string | null> {
  const settings = await db.many<{ name: string; setting: string }>(sql`
    select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit')
    union all select 'read-only', pg_is_in_recovery()::text`)
  const bad = settings.filter(({ setting }) => setting === 'off' || setting === 'true')
  return bad.length > 0
    ? bad.map(({ name, setting }) => (setting === 'off' ? `${name} is off` : name)).join(', ')
    : null
}

async function runChecks(checks: readonly ReadinessCheck[]): Promise<Record<string, string>> {
  const results = await Promise.all(
    checks.map(async ({ name, run }) => {
      const result = await inTime(
        CHECK_MS_MAX,
        run().catch(() => 'unavailable'),
        () => 'no answer',
      )
      return [name, result ?? 'ok'] as const
    }),
  )
  return Object.fromEntries(results)
}

function remember<T>(look: () => Promise<T>): () => Promise<T> {
  let seen: Promise<T> | null = null
  return () => {
    if (!seen) {
      seen = look()
      setTimeout(() => (seen = null), REMEMBER_MS).unref()
    }
    return seen
  }
}
