// Closing the connection that listens for hints, whatever state it is in.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { aDatabase } from '../../../test/support/box.ts'
import { eventually } from '../../../test/support/factories.ts'
import { Wakeups } from './wakeups.ts'

const isClosedWithin = async (wakeups: Wakeups, milliseconds: number): Promise<boolean> =>
  Promise.race([wakeups.close().then(() => true), delay(milliseconds, false)])

test('hints can be closed while their connection is still being made', async () => {
  const wakeups = new Wakeups()
  wakeups.listen(await aDatabase())

  assert.ok(await isClosedWithin(wakeups, 3_000))
})

test('hints can be closed while the database takes connections and says nothing', async t => {
  const sockets: Socket[] = []
  const silent = createServer(socket => void sockets.push(socket.on('error', () => {}).resume()))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const wakeups = new Wakeups()
  wakeups.listen(`postgres://nobody:nothing@127.0.0.1:${(silent.address() as AddressInfo).port}/none`)
  await eventually('it is connecting', async () => sockets.length > 0)

  assert.ok(await isClosedWithin(wakeups, 3_000))
})
