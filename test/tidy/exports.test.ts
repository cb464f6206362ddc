// What a file exports is imported somewhere: an export says that others depend on it.
import assert from 'node:assert/strict'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { allFiles, sourceFiles, type SourceFile } from './source.ts'

// What a thread does is loaded by its path.
const files = sourceFiles().filter(({ path }) => !path.endsWith('-thread.ts'))
const exportsOf = ({ text }: SourceFile): string[] =>
  [...text.matchAll(/^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm)].map(match => match[1]!)

test('exports are imported by somebody', () => {
  const imported = new Set(allFiles().flatMap(({ path, text }) => importsOf(path, text)))
  const unused = files.flatMap(file =>
    exportsOf(file)
      .map(name => `${file.path}: ${name}`)
      .filter(name => !imported.has(name)),
  )
  assert.deepEqual(unused, [])
})

test('what is exported is used by more than tests: by another source file, or in its own', () => {
  const imported = new Set(sourceFiles().flatMap(({ path, text }) => importsOf(path, text)))
  const unused = files.flatMap(file =>
    exportsOf(file)
      .filter(name => withoutComments(file.text).match(new RegExp(`\\b${name}\\b`, 'g'))!.length === 1)
      .map(name => `${file.path}: ${name}`)
      .filter(name => !imported.has(name)),
  )
  assert.deepEqual(unused, [])
})

const withoutComments = (text: string): string => text.replaceAll(/\/\*[^]*?\*\/|(?<![:'"`\\])\/\/.*$/gm, '')

/** As `path: name`. */
function importsOf(path: string, text: string): string[] {
  const statements = text.matchAll(/\b(?:import|export) (?:type )?(?:\{([^}]*)\}|\* as (\w+)) from '(\.[^']+)'/g)
  // As a command does: `(await import('./serve.ts')).serve(config)`.
  const late = [...text.matchAll(/\bimport\('(\.[^']+)'\)\)\.(\w+)/g)].map(
    ([, from, name]) => `${normalize(join(dirname(path), from!))}: ${name}`,
  )
  const used = [...statements].flatMap(([, names, whole, from]) => {
    const file = normalize(join(dirname(path), from!))
    const ofFile = whole
      ? [...text.matchAll(new RegExp(`\\b${whole}\\.(\\w+)`, 'g'))].map(match => match[1]!)
      : names!.split(',').map(
          name =>
            name
              .trim()
              .replace(/^type /, '')
              .split(' as ')[0]!,
        )
    return ofFile.filter(Boolean).map(name => `${file}: ${name}`)
  })
  return [...late, ...used]
}
