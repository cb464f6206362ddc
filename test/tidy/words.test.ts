// Words: one meaning each (STYLE.md), and no reference to a paper that a reader of the repository does not have.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { allFiles, sourceFiles } from './source.ts'

/** Words that STYLE.md has retired, with the lines in which they still stand. These numbers only go down. */
const RETIRED: [RegExp, number][] = [
  [/\bparcels?\b/i, 0],
  [/\bhear(?:s|d|ing)? out\b/i, 0],
  [/\bpauseAfter\b/, 0],
  [/\blet(?:s|ting)? go\b|letGo/i, 25],
  [/\bhand(?:s|ed|ing)? over\b|handOver/i, 9],
  [/straggler/i, 33],
  [/(?<!in )(?<!in)flight/i, 9],
  [/crowd/i, 21],
  [/\bput(?:s|ting)? off\b/i, 3],
  [/\b(?:in ?)?turns\b/i, 25],
  [/\blanes?\b/i, 138],
  [/\bstretch(?:es)?\b/i, 24],
  [/\bwalk(?:s|ed|ing|er)?\b|Walk\b/i, 70],
  [/\bwhoever\b/i, 19],
  [/\bthose who\b/i, 19],
  [/\bas above\b/i, 20],
]

test('retired words do not come back', () => {
  const lines = sourceFiles().flatMap(file =>
    file.lines.map((line, index) => ({ at: `${file.path}:${index + 1}`, line })),
  )
  const found = RETIRED.flatMap(([word, max]) => {
    const places = lines.filter(({ line }) => word.test(line)).map(({ at }) => at)
    return places.length > max ? [{ word: String(word), max, count: places.length, places }] : []
  })
  assert.deepEqual(found, [])
})

/** Numbers of promises and sections mean something only to readers of the paper; the reason means something to all. */
const ELSEWHERE = /\b(?!RFC\b)[A-Z]{4,} §|\bP\d{1,2}\b(?! *=)|\bissue \d+\b/
/** A paper is named by its file, and the file is here. */
const PAPER = /(?<![\w/.])([A-Z]{4,}\.md)\b/g

test('no comment and no text refers to a paper that is not in the repository', () => {
  const found = allFiles()
    .filter(({ path }) => path !== 'test/tidy/words.test.ts')
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        ELSEWHERE.test(line) || namesAbsentPaper(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
      ),
    )
  assert.deepEqual(found, [])
})

const namesAbsentPaper = (line: string): boolean =>
  [...line.matchAll(PAPER)].some(([, name]) => !existsSync(new URL(`../../${name}`, import.meta.url)))
