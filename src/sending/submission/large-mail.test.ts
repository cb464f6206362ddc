// Large messages over SMTP: prepared beside the main thread, stored as they came.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longestTurn } from '../../../test/support/main-thread.ts'
import { aSubmissionPort, idIn, PLAIN } from './submission.fixture.ts'

test('a large message is stored whole, and a refusal of it reads like that of a small one', async t => {
  const { client, stored } = await aSubmissionPort(t)
  const smtp = await client()
  const body = `${'x'.repeat(76)}\r\n`.repeat(10_000)

  const id = idIn(await smtp.send(PLAIN + body))
  const kept = await stored(id)
  assert.ok(kept.source.endsWith(`Hello\r\n${body}`))

  const twoFrom = `From: a@acme.example, b@acme.example\r\n${PLAIN.replace(/^From.*\r\n/, '')}${body}`
  assert.match(await smtp.send(twoFrom), /^550 5\.6\.0 From must contain exactly one address/)
  const looping = `${'Received: from a by b\r\n'.repeat(31)}${PLAIN}${body}`
  assert.match(await smtp.send(looping), /^550 5\.4\.6/)
})

test('thirty megabytes of parts without blank lines block the main thread for less than 250 ms', async t => {
  const { client } = await aSubmissionPort(t)
  const smtp = await client()
  const part = `\r\n--b\r\nContent-Type: image/png\r\nX-Long: ${'x'.repeat(900)}\r\n\t${'x'.repeat(900)}`
  const header = PLAIN.replace('\r\n\r\n', '\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n')
  await smtp.send(PLAIN)
  // Bytes: turning a text into bytes would be the test's own work.
  const wanted = Buffer.from(`${header}${part.repeat(14_000)}\r\n--b--\r\n`)
  let reply = ''

  const longestMs = await longestTurn(async () => {
    reply = await smtp.send(wanted)
  })

  assert.match(reply, /^(250|55\d) /)
  assert.ok(longestMs < 250, `the main thread was blocked for ${longestMs.toFixed(0)} ms`)
})
