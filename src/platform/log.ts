// JSON lines, or short coloured lines on a terminal. Secrets are not meant to get here: request logging takes its
// fields from the contract. Fields with these names are blanked all the same.
import { pino, type DestinationStream, type Logger } from 'pino'
import type { LogLevel } from './config.ts'
import { LineWriter } from './line-writer.ts'

export type Log = Logger

const SECRET_FIELDS = new Set(['authorization', 'secret', 'password', 'token', 'x-admin-token', 'cookie', 'bearer'])

export function createLog(level: LogLevel, destination: DestinationStream = standardOutput()): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }), log: hideSecrets },
    },
    destination,
  )
}

function standardOutput(): DestinationStream {
  // What cannot be written there, the welcome for one, is no reason to end.
  process.stdout.on('error', () => {})
  if (process.stdout.isTTY) return { write: line => process.stdout.write(pretty(line)) }
  // Not pino's own: it tries for ever to write the last lines where nobody reads them, and the process never ends.
  const writer = new LineWriter(1, lineAbout)
  process.on('exit', () => writer.end())
  return writer
}

const LOST = 'log lines were lost: their reader was slow or gone, or the disk full'

const lineAbout = (lost: number): string =>
  `{"level":"warn"${pino.stdTimeFunctions.isoTime()},"lost_lines":${lost},"msg":"${LOST}"}\n`

/** Two levels deep, which is as deep as anything we log; searching whole objects cost a tenth of a request. */
function hideSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  for (const name in fields) {
    if (SECRET_FIELDS.has(name)) fields[name] = '[hidden]'
    const value = fields[name]
    if (typeof value !== 'object' || value === null || value instanceof Error) continue
    for (const inner in value) {
      if (SECRET_FIELDS.has(inner)) fields[name] = { ...(fields[name] as object), [inner]: '[hidden]' }
    }
  }
  return fields
}

const COLOURS: Record<string, number> = { trace: 90, debug: 90, info: 36, warn: 33, error: 31, fatal: 31 }

/** Exported for tests: only a terminal gets to see it. */
export function pretty(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
  const err = fields['err'] as { stack?: string } | undefined
  if (err?.stack) delete fields['err']
  const details = Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
  // Indented, so that a line break in an error's message begins nothing that looks like a line of ours.
  const stack = err?.stack
    ? err.stack
        .split('\n')
        .map(each => `\n  ${visible(each)}`)
        .join('')
    : ''
  const label = String(level)
  const colour = COLOURS[label] ?? 0
  const head = `${String(time).slice(11, 19)} \u001b[${colour}m${label.padEnd(5)}\u001b[0m`
  return `${head} ${visible(String(msg))} \u001b[90m${visible(details)}\u001b[0m${stack}\n`
}

// Much of what is logged was said by strangers. A terminal obeys control characters (C0 with ESC, DEL, C1 with the
// one-byte CSI): they move the cursor, rewrite lines, set the title or answer as if typed. Format characters turn the
// direction of text round or hide in it, and U+2028 and U+2029 begin a line that looks like one of ours.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu

const visible = (text: string): string =>
  text.replace(UNSEEN, char => {
    const code = char.codePointAt(0)!.toString(16)
    return code.length > 2 ? `\\u{${code}}` : `\\x${code.padStart(2, '0')}`
  })
