// Connected mailboxes: messages of 8 KB mirrored from a local Dovecot, the time from its word of a new mail until that can be
// read here, and the memory of many sessions that wait.
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { ImapFlow } from 'imapflow'
import { connect, filed, mailOf, untilLive, withSite, type Site } from './support/mirrors.ts'
import { cpuMilliseconds } from './support/cpu.ts'
import { count, heading, percentile, report } from './support/report.ts'
import { residentMegabytes } from './support/server.ts'

const MESSAGES = 3_000
const MESSAGE_BYTES = 8_192
const LONE = 100
const SESSIONS = 500

export async function benchConnected(): Promise<void> {
  heading(
    `Connected mailboxes: ${count(MESSAGES)} messages of 8 KB from Dovecot, ${LONE} new ones, ${SESSIONS} sessions`,
  )
  await withSite(async site => {
    const pid = (await site.startHost()).pid!
    await measureHistory(site, pid)
    await measureNews(site)
    await measureSessions(site, pid)
  })
}
const READER = 'reader@gmail.test'

async function measureHistory({ db, dovecot, dataDir }: Site, pid: number): Promise<void> {
  await dovecot.deliver(
    READER,
    Array.from({ length: MESSAGES }, (_, n) => mailOf(n, MESSAGE_BYTES)),
  )
  await connect(db, [READER])
  let first = 0
  while ((first = await filed(db)) === 0) await delay(5)
  const [began, cpuBefore] = [performance.now(), cpuMilliseconds({ pid, dataDir })]
  while ((await filed(db)) < MESSAGES) await delay(10)
  const cpu = (cpuMilliseconds({ pid, dataDir }) - cpuBefore) / (MESSAGES - first)
  const rate = (MESSAGES - first) / ((performance.now() - began) / 1000)
  report({ name: 'history, messages/s', value: count(rate), target: '>= 300', isMet: rate >= 300 })
  report({ name: 'history, ms of CPU for each, the database included', value: cpu.toFixed(2) })
  await untilLive(db, 1)
}

/** Another client that waits in the same mailbox is told at the same moment. */
async function measureNews({ db, dovecot }: Site): Promise<void> {
  const witness = new ImapFlow({
    ...dovecot.server,
    auth: { user: READER, accessToken: dovecot.tokenOf(READER) },
    logger: false,
  })
  await witness.connect()
  await witness.mailboxOpen('INBOX')
  void witness.idle()
  const times: number[] = []
  for (let n = 0; n < LONE; n++) {
    await delay(300)
    const told = once(witness, 'exists')
    await dovecot.deliver(READER, [mailOf(MESSAGES + n, MESSAGE_BYTES)])
    await told
    const began = performance.now()
    while ((await filed(db)) < MESSAGES + n + 1) await delay(2)
    times.push(performance.now() - began)
  }
  witness.close()
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)]
  report({ name: 'from word of it to visible, p50 ms', value: p50.toFixed(0) })
  report({ name: 'from word of it to visible, p99 ms', value: p99.toFixed(0), target: '<= 1000', isMet: p99 <= 1_000 })
}

async function measureSessions({ db, dovecot }: Site, pid: number): Promise<void> {
  const before = await residentMegabytes(pid)
  const users = Array.from({ length: SESSIONS - 1 }, (_, n) => `user${n}@gmail.test`)
  for (const user of users) await dovecot.deliver(user, [mailOf(0, MESSAGE_BYTES)])
  const began = performance.now()
  await connect(db, users)
  await untilLive(db, SESSIONS)
  const seconds = (performance.now() - began) / 1000
  let megabytes = 0
  for (let n = 0; n < 70; n++) {
    megabytes = Math.max(megabytes, await residentMegabytes(pid))
    await delay(1_000)
  }
  report({ name: 'before them, MB', value: before.toFixed(0) })
  report({ name: `until ${SESSIONS} sessions are live, s`, value: seconds.toFixed(1) })
  report({
    name: `with ${SESSIONS} sessions, MB at most`,
    value: megabytes.toFixed(0),
    target: '<= 600',
    isMet: megabytes <= 600,
  })
}
