// GET /v1/tenants/{id} with a key, against a bare Fastify route, in turns.
import { spawn } from 'node:child_process'
import { httpLoad, loadClient, type LoadResult } from './support/load.ts'
import { count, heading, median, note, report } from './support/report.ts'
import { freePort } from '../test/support/programs/ports.ts'
import { startServer, waitUntilReady } from './support/server.ts'

const ROUNDS = 3
const CONNECTIONS = 64
const SECONDS = 6

export async function benchHttp(): Promise<void> {
  heading(`HTTP: GET /v1/tenants/{id} at ${CONNECTIONS} connections (${loadClient}, medians of ${ROUNDS})`)
  const server = await startServer()
  const port = await freePort()
  const bare = spawn(process.execPath, ['bench/bare-fastify.ts', String(port)], { stdio: 'inherit' })
  await waitUntilReady(`http://127.0.0.1:${port}`)
  const path = `/v1/tenants/${server.tenantId}`
  const load = { connections: CONNECTIONS, seconds: SECONDS }
  const ours = { ...load, url: server.url + path, headers: { authorization: `Bearer ${server.bearer}` } }
  const theirs = { ...load, url: `http://127.0.0.1:${port}${path}` }
  await httpLoad({ ...ours, seconds: 2 })
  await httpLoad({ ...theirs, seconds: 2 })
  const results: { ours: LoadResult; theirs: LoadResult }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    results.push({ theirs: await httpLoad(theirs), ours: await httpLoad(ours) })
  }
  bare.kill()
  await server.stop()
  const failures = results.reduce((sum, each) => sum + each.ours.failures, 0)
  if (failures > 0) note(`${failures} replies were not 2xx`)
  const ratio = median(results.map(each => each.ours.requestsPerSecond / each.theirs.requestsPerSecond))
  report({ name: 'bare Fastify, requests/s', value: count(median(results.map(each => each.theirs.requestsPerSecond))) })
  report({ name: 'Sluice, requests/s', value: count(median(results.map(each => each.ours.requestsPerSecond))) })
  report({ name: 'Sluice, p99', value: `${median(results.map(each => each.ours.p99Ms)).toFixed(1)} ms` })
  report({
    name: 'ratio to bare Fastify',
    value: ratio.toFixed(2),
    target: '>= 0.35',
    isMet: ratio >= 0.35 && failures === 0,
  })
}
