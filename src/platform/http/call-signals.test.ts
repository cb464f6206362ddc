// When nobody waits for an answer any more.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import { CallSignals } from './call-signals.ts'

const aReply = () => ({ raw: Object.assign(new EventEmitter(), { destroyed: false }) })
const signalOf = (signals: CallSignals, reply: ReturnType<typeof aReply>) => signals.of(reply as never)

test('the signal of a call is aborted when its caller leaves, also before it is asked for', () => {
  const signals = new CallSignals()
  const [staying, leaving] = [aReply(), aReply()]
  const [stays, leaves] = [signalOf(signals, staying), signalOf(signals, leaving)]
  leaving.raw.emit('close')
  assert.deepEqual([stays.aborted, leaves.aborted], [false, true])
  const gone = aReply()
  gone.raw.destroyed = true
  assert.ok(signalOf(signals, gone).aborted)
})

test('when the server closes, calls that are still waiting are ended', async () => {
  const signals = new CallSignals()
  const signal = signalOf(signals, aReply())
  signals.abortAfter(5)
  const keptAlive = setTimeout(() => {}, 10_000)
  await once(signal, 'abort')
  clearTimeout(keptAlive)
})
