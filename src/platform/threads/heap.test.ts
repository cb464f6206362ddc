// What the engine keeps, in a process of its own.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const HEAP = JSON.stringify(new URL('./heap.ts', import.meta.url).href)

/** Answers what a module prints. */
async function printed(source: string): Promise<number[]> {
  const code = `import { boundGarbage, collectGarbage } from ${HEAP}\n${source}`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-semi-space-size=8',
    '--input-type=module',
    '-e',
    code,
  ])
  return stdout.trim().split(' ').map(Number)
}

test('after a large piece of work its memory goes back to the system', async () => {
  const [before, after] = await printed(`
    const megabytes = () => process.memoryUsage().rss / 1048576
    let objects = []
    for (let n = 0; n < 2_000_000; n++) objects.push({ n, text: String(n) })
    const before = megabytes()
    objects = null
    collectGarbage()
    console.log(before, megabytes())`)
  assert.ok(before! > 200, `${before} MB`)
  assert.ok(after! < before! / 2, `${before} MB, then ${after}`)
})

test('garbage grows to no more than what is alive', async () => {
  const peakOf = async (bound: string): Promise<number> => {
    const [peak] = await printed(`
      ${bound}
      const kept = []
      for (let n = 0; n < 600_000; n++) kept.push({ n, text: String(n) })
      const recent = new Array(100_000)
      let peak = 0
      for (let n = 0; n < 10_000_000; n++) {
        recent[n % 100_000] = { n, list: [n] }
        if (n % 100_000 === 0) peak = Math.max(peak, process.memoryUsage().heapTotal / 1048576)
      }
      console.log(peak, kept.length)`)
    return peak!
  }
  const [bounded, unbounded] = [await peakOf('boundGarbage()'), await peakOf('')]
  assert.ok(bounded < 0.75 * unbounded, `${bounded} MB, and ${unbounded} without the bound`)
})
