// The source tree as text, for the tidy tests.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface SourceFile {
  /** From the project's root, with forward slashes. */
  path: string
  text: string
  lines: string[]
  imports: { from: string; isRelative: boolean }[]
}

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Everything under src but tests and what only tests use. */
export const sourceFiles = (): SourceFile[] =>
  readAll('src/**/*.ts').filter(({ path }) => !/\.(test|fixture)\.ts$/.test(path))

/** All code there is: the sources, their tests, benchmarks and scripts. */
export const allFiles = (): SourceFile[] =>
  ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'scripts/*.{ts,mjs}'].flatMap(readAll)

/** The migrations, and the schema that they come to. */
export const schemaFiles = (): SourceFile[] => ['migrations/*.sql', 'schema.sql'].flatMap(readAll)

/** What readers are given beside the code. */
export const pages = (): SourceFile[] => ['*.md', 'docs/*.md'].flatMap(readAll)

const readAll = (pattern: string): SourceFile[] => globSync(pattern, { cwd: ROOT }).toSorted().map(readSource)

function readSource(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const imports = [
    ...text.matchAll(/^(?:import|export|\}).* from '([^']+)'|\bimport\('([^']+)'\)|^import '([^']+)'/gm),
  ].map(match => {
    const from = (match[1] ?? match[2] ?? match[3])!
    const isRelative = from.startsWith('.')
    return { from: isRelative ? normalize(join(dirname(path), from)) : from, isRelative }
  })
  return { path, text, lines: text.split('\n'), imports }
}

/** `src/identity/tenants/create.ts` is in the wing `identity` and the folder `src/identity/tenants`. */
export const wingOf = (path: string): string => (path.split('/').length > 2 ? path.split('/')[1]! : 'root')
export const folderOf = (path: string): string => dirname(path)
