// Connections that are slow, silent, many or left alone.
// Waits more than it works.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { ADMIN_TOKEN, aBox, type Box } from '../../../test/support/box.ts'

const JSON_HEAD = 'Host: x\r\nContent-Type: application/json\r\n'
const CREATE = `POST /admin/v1/accounts HTTP/1.1\r\nX-Admin-Token: ${ADMIN_TOKEN}\r\n${JSON_HEAD}`

async function open({ url }: Box, head: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8')
  socket.on('error', () => {})
  socket.write(head)
  await once(socket, 'connect')
  return socket
}

async function secondsToClose(box: Box): Promise<number> {
  const began = performance.now()
  await box.close()
  return (performance.now() - began) / 1_000
}

test('a request that is under way when the server closes is answered, and its connection ends with it', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const body = '{"name":"Late"}'
  const socket = await open(box, `${CREATE}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`)
  await once(socket, 'data')
  let answer = ''
  socket.on('data', chunk => (answer += String(chunk)))

  const closed = box.close()
  socket.write(body)

  await once(socket, 'close')
  assert.match(answer, /^HTTP\/1\.1 201 /)
  assert.match(answer, /^connection: close\r$/im)
  await closed
})

test('half a head, and a body that was refused before it came, keep no server from closing', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  await open(box, 'POST /v1/messages HTTP/1.1\r\nHost: ')
  const refused = await open(box, `POST /v1/messages HTTP/1.1\r\n${JSON_HEAD}Content-Length: 1000\r\n\r\n{`)
  assert.match(String(await once(refused, 'data')), /^HTTP\/1\.1 401 /)
  assert.ok((await secondsToClose(box)) < 5)
})

test('a body that comes without end is cut when the time for what is under way is over', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const socket = await open(box, `${CREATE}Content-Length: 1000000\r\n\r\n{`)
  const drip = setInterval(() => socket.write(' '.repeat(2_000)), 100)
  const seconds = await secondsToClose(box)
  clearInterval(drip)
  assert.ok(seconds < 12, `${seconds} s`)
})
