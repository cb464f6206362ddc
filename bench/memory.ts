// Resident memory of the server process: idle, and flat over a million requests.
import { setTimeout as delay } from 'node:timers/promises'
import { httpLoad } from './support/load.ts'
import { count, heading, note, report } from './support/report.ts'
import { residentMegabytes, startServer } from './support/server.ts'

const REQUESTS = 1_000_000
const ROUND_SECONDS = 15

export async function benchMemory(): Promise<void> {
  heading(`Memory: idle, and over ${count(REQUESTS)} requests`)
  const server = await startServer()
  await delay(5_000)
  const idle = await residentMegabytes(server.pid)
  report({ name: 'idle server process', value: `${idle.toFixed(0)} MB`, target: '<= 180 MB', isMet: idle <= 180 })
  const load = {
    url: `${server.url}/v1/tenants/${server.tenantId}`,
    headers: { authorization: `Bearer ${server.bearer}` },
    connections: 64,
    seconds: ROUND_SECONDS,
  }
  let done = 0
  const samples: number[] = []
  while (done < REQUESTS) {
    done += (await httpLoad(load)).requests
    const resident = await residentMegabytes(server.pid)
    // The heap grows to its working size during the first tenth; what follows must be flat.
    if (done >= REQUESTS / 10) samples.push(resident)
    note(`${count(done)} requests: ${resident.toFixed(0)} MB`)
  }
  await server.stop()
  const first = samples[0]!
  const drift = Math.max(...samples.map(sample => Math.abs(sample - first) / first))
  const last = samples.at(-1)!
  report({ name: 'after the first tenth, and at the end', value: `${first.toFixed(0)} / ${last.toFixed(0)} MB` })
  report({ name: 'largest deviation', value: `${(drift * 100).toFixed(1)} %`, target: '<= 10 %', isMet: drift <= 0.1 })
}
