// What a file exports is imported somewhere: an export says that others depend on it.
import assert from 'node:assert/strict'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { allFiles, sourceFiles } from './source.ts'

test('exports are imported by somebody', () => {
  const imported = new Set(allFiles().flatMap(({ path, text }) => importsOf(path, text)))
  // What a thread does is loaded by its path.
  const files = sourceFiles().filter(({ path }) => !path.endsWith('-thread.ts'))
  const unused = files.flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm)]
      .map(match => `${path}: ${match[1]!}`)
      .filter(name => !imported.has(name)),
  )
  assert.deepEqual(unused, [])
})

/** As `path: name`. */
function importsOf(path: string, text: string): string[] {
  const statements = text.matchAll(/\b(?:import|export) (?:type )?(?:\{([^}]*)\}|\* as (\w+)) from '(\.[^']+)'/g)
  return [...statements].flatMap(([, names, whole, from]) => {
    const file = normalize(join(dirname(path), from!))
    const used = whole
      ? [...text.matchAll(new RegExp(`\\b${whole}\\.(\\w+)`, 'g'))].map(match => match[1]!)
      : names!.split(',').map(
          name =>
            name
              .trim()
              .replace(/^type /, '')
              .split(' as ')[0]!,
        )
    return used.filter(Boolean).map(name => `${file}: ${name}`)
  })
}
