// What is remembered of a mail does not keep the mail in memory.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

test('styles that are remembered do not keep the pages that they stood in', () => {
  const module = new URL('./css.ts', import.meta.url).href
  const script = `const { parseDeclarations } = await import('${module}')
    for (let n = 0; n < 40; n++) {
      const page = Buffer.from('color: rgb(' + n + ', 1, 2); margin: 3px' + 'x'.repeat(2e6)).toString('latin1')
      parseDeclarations(page.slice(0, 30))
    }
    gc()
    console.log(process.memoryUsage().heapUsed + process.memoryUsage().external)`
  const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  assert.ok(Number(stdout) > 0, stderr)
  assert.ok(Number(stdout) < 40e6, `${stdout.trim()} bytes after 40 pages of 2 MB`)
})
