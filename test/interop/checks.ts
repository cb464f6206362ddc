// Sentences and whether they hold, one line each.
import { spawn } from 'node:child_process'

/** For what takes a second when it works: a busy machine may take half a minute. */
export const PATIENCE_MS = 60_000
/** A program that hangs must not keep the run. */
const CHECK_MS_MAX = 110_000
const PROGRAM_MS_MAX = 30_000

const failures: string[] = []

export function section(title: string, ...versions: readonly string[]): void {
  console.log(`\n${title}${versions.length > 0 ? ` (${versions.join(', ')})` : ''}`)
}

export async function check(sentence: string, act: () => Promise<void>): Promise<void> {
  const began = performance.now()
  try {
    await Promise.race([act(), failAfter(CHECK_MS_MAX)])
    console.log(`✓ ${sentence} (${Math.round(performance.now() - began)} ms)`)
  } catch (error) {
    failures.push(sentence)
    console.log(`✗ ${sentence}\n    ${reasonsOf(error).join('\n    ')}`)
  }
}

export function skip(what: string, why: string): void {
  console.log(`skipped: ${what}: ${why}`)
}

export const failed = (): readonly string[] => failures

interface Ran {
  status: number | null
  /** Both streams, in the order in which they came. */
  output: string
}

/** Runs a program to its end; what it says is kept, not shown. */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Promise<Ran> {
  const { input = '', env = {}, ...rest } = options
  const child = spawn(command, args, { ...rest, env: { ...process.env, ...env }, timeout: PROGRAM_MS_MAX })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += String(chunk)))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  return { status, output }
}

/** The first line that it says about itself. */
export async function version(command: string, args: readonly string[]): Promise<string> {
  const { output } = await run(command, args)
  const [line] = output.trim().split('\n')
  return line!.includes(' ') ? line!.split(' (')[0]! : `${command === 'postconf' ? 'Postfix' : command} ${line}`
}

function failAfter(milliseconds: number): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`not done within ${milliseconds} ms`)), milliseconds).unref()
  })
}

function reasonsOf(error: unknown): string[] {
  const reasons: string[] = []
  for (let each = error; each instanceof Error; each = each.cause)
    reasons.push(...each.message.split('\n').slice(0, 30))
  return reasons.length > 0 ? reasons : [String(error)]
}
