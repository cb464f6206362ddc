// HTTP load from another process: wrk where it is installed (light), autocannon where not.
import { spawn, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'

export interface Load {
  url: string
  headers?: Record<string, string>
  connections: number
  seconds: number
}

export interface LoadResult {
  requestsPerSecond: number
  p99Ms: number
  requests: number
  /** Replies that were not 2xx. */
  failures: number
}

const hasWrk = spawnSync('wrk', ['-v']).error === undefined
export const loadClient: string = hasWrk ? 'wrk' : 'autocannon'

export const httpLoad = (load: Load): Promise<LoadResult> => (hasWrk ? runWrk(load) : runAutocannon(load))

async function runWrk({ url, headers = {}, connections, seconds }: Load): Promise<LoadResult> {
  const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const output = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', ...fields, url])
  const requests = Number(/(\d+) requests in/.exec(output)?.[1])
  return {
    requests,
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]),
    p99Ms: milliseconds(/99%\s+([\d.]+)(us|ms|s)/.exec(output)!),
    failures: Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0),
  }
}

const milliseconds = ([, value, unit]: RegExpExecArray): number =>
  Number(value) * (unit === 'us' ? 0.001 : unit === 's' ? 1000 : 1)

async function runAutocannon({ url, headers = {}, connections, seconds }: Load): Promise<LoadResult> {
  const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const cli = createRequire(import.meta.url).resolve('autocannon')
  const output = await run(process.execPath, [
    cli,
    '-j',
    '-c',
    String(connections),
    '-d',
    String(seconds),
    ...fields,
    url,
  ])
  const result = JSON.parse(output)
  return {
    requests: result.requests.total,
    requestsPerSecond: result.requests.average,
    p99Ms: result.latency.p99,
    failures: result.non2xx + result.errors,
  }
}

async function run(command: string, args: string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.on('data', chunk => (output += String(chunk)))
  await new Promise(resolve => child.on('close', resolve))
  return output
}
