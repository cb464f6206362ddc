// Words: one meaning each (STYLE.md), and no reference to a paper that a reader of the repository does not have.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { allFiles, pages, schemaFiles, sourceFiles } from './source.ts'

/** Words that STYLE.md has retired, in code, tests and docs. */
const RETIRED: readonly RegExp[] = [
  /\bparcels?\b/i,
  /\bhear(?:s|d|ing)? out\b/i,
  /\bpauseAfter\b/,
  /\blet(?:s|ting)? go\b|letGo/i,
  /\bhand(?:s|ed|ing)? over\b|handOver/i,
  /straggler/i,
  /(?<!in[ _-]?)flight/i,
  /crowd/i,
  /\bput(?:s|ting)? off\b/i,
  /\b(?:take|takes|taking|by) turns\b/i,
  /\blanes?\b/i,
  /\bstretch(?:es)?\b/i,
  /\bwalk(?:s|ed|ing|er)?\b(?!['<])/i,
  /\bwhoever\b/i,
  /\bthose who\b/i,
  /\bas above\b/i,
  /\bwhat it was at\b(?! its)/i,
  /\b(?:holds?|held|holding) the locks?\b/i,
  /\b(?:holds?|held|holding) (?:a|the|its|their) leases?\b/i,
]
/** Texts of senders and of receivers: what they write is theirs. */
const QUOTES_OTHERS = /^src\/mailbox\/shield\/lexicon\/|^src\/mail\/reports\/bounce-classes\.test\.ts$/
/** These say which words are retired. */
const NAMES_THEM = new Set(['test/tidy/words.test.ts', 'STYLE.md', 'CHANGELOG.md'])

test('retired words do not come back', () => {
  const found = [...allFiles(), ...pages(), ...schemaFiles().filter(({ path }) => path === 'schema.sql')]
    .filter(({ path }) => !QUOTES_OTHERS.test(path) && !NAMES_THEM.has(path))
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        RETIRED.filter(word => word.test(line)).map(word => `${path}:${index + 1}: ${String(word)}: ${line.trim()}`),
      ),
    )
  assert.deepEqual(found, [])
})

/** In a sentence these may be ordinary words; as names they had a dozen meanings each. */
const NO_NAMES = /(?<![a-z])(?:lane|room|place|placed|turn|walk|walker|stretch|crowd)s?(?![a-z])/i
/** A verb: it puts messages where the provider has them. */
const VERBS = new Set(['placeMessages'])

test('names are no words of many meanings', () => {
  const found = sourceFiles().flatMap(({ path, text }) => {
    const names = new Set(codeOf(text).match(/[A-Za-z_$][\w$]*/g))
    return [...names].filter(name => NO_NAMES.test(spaced(name)) && !VERBS.has(name)).map(name => `${path}: ${name}`)
  })
  assert.deepEqual(found, [])
})

/** `placeOf` is `place Of`. */
const spaced = (name: string): string => name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')

/** Without comments and plain strings. Templates stay, because they are SQL; a few are sentences and styles. */
const codeOf = (text: string): string =>
  text
    .replaceAll(/\/\*[^]*?\*\/|(?<![:'"`\\])\/\/.*$/gm, '')
    .replaceAll(/'(?:\\.|[^'\\\n])*'/g, "''")
    .replaceAll(/\bin place\b|\bplace-items\b/gi, '')

/** Numbers of promises and sections mean something only to readers of the paper; the reason means something to all. */
const ELSEWHERE = /\b(?!RFC\b)[A-Z]{4,} §|\bP\d{1,2}\b(?! *=)|\bissue \d+\b/
/** A paper is named by its file, and the file is here. */
const PAPER = /(?<![\w/.])([A-Z]{4,}\.md)\b/g

test('no comment and no text refers to a paper that is not in the repository', () => {
  const found = [...allFiles(), ...pages(), ...schemaFiles()]
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
