// Hostile mail at the MX port holds a thread of its own, and never the main thread.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arf, dsn, dsnSaying, failed } from '../../mail/reports/report.fixture.ts'
import { longestTurn } from '../../../test/support/main-thread.ts'
import { aDeliveredMessage, anMx } from './inbound.fixture.ts'

const hundred = Array.from({ length: 100 }, (_, n) => [`Final-Recipient: rfc822; u${n}@example.com`, 'Action: failed'])

const HOSTILE: Record<string, string[]> = {
  'a line of dashes and a hundred recipients': dsnSaying(['-'.repeat(32_000)], ...hundred),
  'a line of stars and a hundred recipients': dsnSaying(['*'.repeat(32_000)], ...hundred),
  'thousands of lines and a hundred recipients': dsnSaying(Array<string>(16_000).fill('a'), ...hundred),
  'a subject of a megabyte': dsn().map(line => line.replace(/^Subject: .*/, `Subject: ${'deliver'.repeat(140_000)}`)),
  'a complaint with a header of a quarter of a megabyte': arf(
    ['Feedback-Type: abuse'],
    Array<string>(60_000).fill('a:'),
  ),
}

for (const [what, lines] of Object.entries(HOSTILE)) {
  test(`a report is read without holding the main thread: ${what}`, async t => {
    const { report } = await anMx(t)
    const sent = await aDeliveredMessage()
    // The thread starts with the first mail, and the first report compiles the patterns.
    await report(sent.bounceAddress(), dsn(failed('nobody@example.com', '4.4.1')))
    let reply = ''

    const longestMs = await longestTurn(async () => {
      reply = await report(sent.bounceAddress(), lines)
    })

    assert.match(reply, /^250/)
    assert.ok(longestMs < 100, `the main thread was held for ${longestMs.toFixed(0)} ms`)
  })
}
