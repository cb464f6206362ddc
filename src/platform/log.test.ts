// Logs are JSON lines without secrets.
// Waits more than it works.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import * as fc from 'fast-check'
import { createLog, pretty } from './log.ts'
import { anyText } from '../../test/support/any-text.ts'

test('fields that carry secrets are blanked, and what they were given is left as it was', () => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  const headers = { authorization: 'Bearer svc_canary', accept: '*/*' }

  log.info({ headers, password: 'canary', note: 'kept' }, 'hello')

  const line = JSON.parse(lines[0]!)
  assert.equal(line.password, '[hidden]')
  assert.deepEqual(line.headers, { authorization: '[hidden]', accept: '*/*' })
  assert.equal(line.note, 'kept')
  assert.equal(line.level, 'info')
  assert.match(line.time, /^\d{4}-.*Z$/)
  assert.equal(headers.authorization, 'Bearer svc_canary')
})

const COLOURS = [0, 36, 90].map(code => `\u001b[${code}m`)

/** The line as a terminal gets it, without our own colours. */
function shown(fields: object, message = 'hello'): string {
  const lines: string[] = []
  createLog('info', { write: line => void lines.push(line) }).info(fields, message)
  return COLOURS.reduce((line, colour) => line.replaceAll(colour, ''), pretty(lines[0]!))
}

test('control characters that strangers sent do not reach the terminal', () => {
  const line = shown(
    { helo: 'a\u001b[2Jb\u009b31mc\u0007d\u202ee\u2028f\u007fg\rh\u200bi' },
    'said\u001b]0;title\u0007',
  )
  assert.match(line, /helo=a\\x1b\[2Jb\\x9b31mc\\x07d\\u\{202e\}e\\u\{2028\}f\\x7fg\\x0dh\\u\{200b\}i/)
  assert.match(line, /said\\x1b\]0;title\\x07/)
})

test('a line break in the message of an error begins no line that looks like ours', () => {
  const [, ...stack] = shown({ err: new Error('x\n12:00:00 info  all is well') })
    .trimEnd()
    .split('\n')
  assert.ok(stack.length > 1)
  for (const each of stack) assert.match(each, /^  /)
})

test('whatever is logged, as value, name, nested or error, is one line without a control character', () => {
  const text = anyText()
  fc.assert(
    fc.property(text, text, text, (value, name, message) => {
      const line = shown({ value, nested: { [`x${name}`]: value } }, message)
      assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Cf}\u2028\u2029]/u)
      assert.ok(line.endsWith('\n'))
      const failure = shown({ err: new Error(value) }, message)
      assert.doesNotMatch(failure.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\u2028\u2029]/u)
    }),
  )
})

const logging = (lines: number, saysSoAfterMs = 200): string => `
  import { createLog } from ${JSON.stringify(new URL('log.ts', import.meta.url).href)}
  process.on('uncaughtException', () => process.exit(3))
  const log = createLog('info')
  process.stdin.once('data', () => process.exit(0)).resume()
  for (let n = 0; n < ${lines}; n++) log.info({ n, filler: 'x'.repeat(500) }, 'a line')
  setTimeout(() => process.stderr.write('logged'), ${saysSoAfterMs})`

const start = (stdout: number | 'pipe', lines: number) =>
  spawn(process.execPath, ['--input-type=module', '-e', logging(lines)], { stdio: ['pipe', stdout, 'pipe'] })

/** When it has logged. What else it says there, as of its own crash, is not that. */
async function logged(child: ChildProcess): Promise<void> {
  let said = ''
  for await (const chunk of child.stderr!) {
    said += chunk
    if (said.endsWith('logged')) return
  }
  throw new Error(`it ended early: ${said}`)
}

async function endOf(stdout: number | 'pipe', lines: number, { stays = false } = {}): Promise<number | null> {
  const child = start(stdout, lines)
  if (!stays) child.stdout?.destroy()
  await logged(child)
  child.stdin!.write('end')
  const [code] = (await once(child, 'exit', { signal: AbortSignal.timeout(20_000) })) as [number | null]
  return code
}

test('a process whose lines nobody takes goes on, and ends when it is asked to', async t => {
  const full = await open('/dev/full', 'w')
  t.after(() => full.close())
  for (const lines of [3, 2_000]) {
    assert.equal(await endOf('pipe', lines), 0, `the reader is gone, ${lines} lines`)
    assert.equal(await endOf(full.fd, lines), 0, `the disk is full, ${lines} lines`)
    assert.equal(await endOf('pipe', lines, { stays: true }), 0, `the reader stands still, ${lines} lines`)
  }
})

test('a reader that begins when the process is ending gets every line, whole and in order', async () => {
  const child = start('pipe', 2_000)
  await logged(child)
  child.stdin!.write('end')
  await delay(300)
  const lines = (await text(child.stdout!)).trimEnd().split('\n')
  assert.deepEqual(
    lines.map(line => JSON.parse(line).n),
    Array.from({ length: 2_000 }, (_, n) => n),
  )
})

test('where lines come faster than they are read some are lost, and a line says how many', async () => {
  const child = start('pipe', 30_000)
  await logged(child)
  let said = ''
  for await (const chunk of child.stdout!.setEncoding('utf8')) {
    said += chunk
    // Behind all that was kept.
    if (said.endsWith('\n') && said.includes('lost_lines')) child.stdin!.write('end')
  }
  const lines = said
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { n?: number; lost_lines?: number })
  const kept = lines.flatMap(({ n }) => n ?? [])
  const lost = lines.flatMap(({ lost_lines: lost }) => lost ?? [])
  assert.equal(lost.length, 1)
  assert.deepEqual([lost[0]! > 1_000, kept.length + lost[0]!], [true, 30_000])
})

test('in a file every line is whole and in order', async t => {
  const path = join(await mkdtemp(join(tmpdir(), 'sluice-log-')), 'log')
  const file = await open(path, 'w')
  t.after(() => file.close())
  assert.equal(await endOf(file.fd, 5_000), 0)
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  assert.deepEqual(
    lines.map(line => JSON.parse(line).n),
    Array.from({ length: 5_000 }, (_, n) => n),
  )
})

test('a pipe that another process has made blocking blocks nobody', async t => {
  // One that shares a pipe and exits leaves it as it was at its start. The reader stands still.
  const other = `process.stdout.isTTY; setTimeout(() => {}, 1_000)`
  const script = '(node -e "$OTHER" & node --input-type=module -e "$LOGGING") | sleep 20'
  const child = spawn('sh', ['-c', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    env: { ...process.env, OTHER: other, LOGGING: logging(2_000, 2_500) },
  })
  t.after(() => process.kill(-child.pid!, 'SIGKILL'))
  const began = performance.now()
  await logged(child)
  assert.ok(performance.now() - began < 15_000)
})
