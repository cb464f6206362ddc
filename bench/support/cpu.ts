// CPU time of a server with everything that works for it: its threads, and PostgreSQL with its backends.
import { globSync, readFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { BenchServer } from './server.ts'

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/**
 * In milliseconds, since the processes began. Backends that ended are counted by their postmaster. `isAlone`: of the server
 * process without its database, which another one uses as well.
 */
export function cpuMilliseconds(
  { pid, dataDir }: Pick<BenchServer, 'pid' | 'dataDir'>,
  { isAlone = false } = {},
): number {
  const [lockFile] = globSync('postgres/**/postmaster.pid', { cwd: dataDir })
  const postmaster = Number(readFileSync(join(dataDir, lockFile!), 'utf8').split('\n')[0])
  const processes = globSync('/proc/[0-9]*/stat').flatMap(path => statOf(path))
  const ours = processes.filter(
    each => each.pid === pid || (!isAlone && (each.pid === postmaster || each.parent === postmaster)),
  )
  return (ours.reduce((sum, { ticks }) => sum + ticks, 0) / ticksPerSecond) * 1000
}

function statOf(path: string): { pid: number; parent: number; ticks: number }[] {
  try {
    const [pid, rest] = readFileSync(path, 'utf8').split(/ \(.*\) /s)
    const fields = rest!.split(' ').map(Number)
    // utime, stime, cutime, cstime: fields 14 to 17 of proc(5), of which `rest` begins with the third.
    return [{ pid: Number(pid), parent: fields[1]!, ticks: fields[11]! + fields[12]! + fields[13]! + fields[14]! }]
  } catch {
    return [] // ended meanwhile
  }
}
