// The rules of the code that a machine can check. Each names the file and the line it objects to.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folderOf, ROOT, sourceFiles, wingOf, type SourceFile } from './source.ts'

const files = sourceFiles()

/** Floors: an import goes down or stays. Observers and billing stand beside, and nobody leans on them. */
const FLOORS = ['platform', 'mail', 'smtp', 'identity', 'control', 'sending', 'mailbox', 'root']
const ASIDE = new Set(['observers', 'billing'])
const ASIDE_MAY_USE = new Set(['platform', 'mail', 'identity'])
/** The one written exception (ARCHITECTURE, The tree). */
const EXCEPTIONS = new Set(['src/observers/guardian -> src/control/suspensions'])
/** `mail` is pure: formats, no socket, timer or thread; work that is long it yields in slices. */
const MAIL_MAY_USE = /^src\/(mail\/|platform\/slices\.ts)/
const IMPURE = /^node:(net|tls|dns|dgram|http|https|worker_threads|timers|child_process|fs)\b/

const ONLY_READS_ADDRESSES = /^import \{ isIP \} from 'node:net'$/m

const objections = (check: (file: SourceFile) => string[]): string[] =>
  files.flatMap(file => check(file).map(objection => `${file.path}: ${objection}`))

const linesMatching = (file: SourceFile, pattern: RegExp): string[] =>
  file.lines.flatMap((line, index) =>
    pattern.test(line) && !/^\s*(\/\/|\*|\/\*)/.test(line) ? [`${index + 1}: ${line.trim()}`] : [],
  )

test('imports go down the floors', () => {
  const found = objections(({ path, imports }) =>
    imports
      .filter(({ isRelative }) => isRelative)
      .filter(({ from }) => !isAllowed(wingOf(path), from) && !EXCEPTIONS.has(`${folderOf(path)} -> ${folderOf(from)}`))
      .map(({ from }) => `must not import ${from}`),
  )
  assert.deepEqual(found, [])
})

function isAllowed(wing: string, path: string): boolean {
  const imported = wingOf(path)
  if (ASIDE.has(wing)) return imported === wing || ASIDE_MAY_USE.has(imported)
  if (wing === 'mail') return MAIL_MAY_USE.test(path)
  if (ASIDE.has(imported)) return wing === 'root'
  return FLOORS.indexOf(imported) <= FLOORS.indexOf(wing)
}

test('mail is pure', () => {
  const found = objections(file =>
    wingOf(file.path) === 'mail'
      ? [
          ...file.imports
            .filter(({ from }) => IMPURE.test(from) && !(from === 'node:net' && ONLY_READS_ADDRESSES.test(file.text)))
            .map(({ from }) => `must not import ${from}`),
          ...linesMatching(file, /\b(setTimeout|setInterval|setImmediate)\(/),
        ]
      : [],
  )
  assert.deepEqual(found, [])
})

const PRIVATE = /\/(contract|routes|feature|(?:[\w-]+-)?(?:queries|workers?))\.ts$/

test('contract, routes, queries and workers are private to their folder; the root alone asks for features', () => {
  const found = objections(({ path, imports }) =>
    imports
      .filter(({ from, isRelative }) => isRelative && PRIVATE.test(from))
      .filter(({ from }) => !from.startsWith('src/platform/') && folderOf(from) !== folderOf(path))
      .filter(({ from }) => !(path === 'src/app.ts' && from.endsWith('/feature.ts')))
      .map(({ from }) => `must not import ${from}`),
  )
  assert.deepEqual(found, [])
})

test('each library is known in one place', () => {
  const homes: Record<string, RegExp> = {
    fastify: /^src\/(platform\/http\/|app\.ts)/,
    pg: /^src\/platform\/(db|embedded-postgres)\//,
    ajv: /^src\/(platform\/http|mailbox\/extraction)\//,
    pino: /^src\/platform\/log\.ts/,
    htmlparser2: /^src\/mail\/text\//,
    'sanitize-html': /^src\/mail\/text\//,
    mailauth: /^src\/mail\/authentication\//,
    tldts: /^src\/mail\/address\//,
    stripe: /^src\/billing\/payments\//,
    undici: /^src\/platform\/net\//,
    selfsigned: /^src\/platform\/tls\.ts/,
    'prom-client': /^src\/platform\//,
    unpdf: /^src\/mailbox\/attachments\//,
    'iconv-lite': /^src\/mail\/mime\/charset-decoders\.ts/,
    imapflow: /^src\/mailbox\/(sync|imap)\//,
    typebox: /^src\//,
    '@scalar/fastify-api-reference': /^src\/platform\/http\//,
    ws: /^src\/platform\/http\//,
  }
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object }
  assert.deepEqual(
    Object.keys(manifest.dependencies).toSorted(),
    Object.keys(homes).toSorted(),
    'what is installed with the server, and where it may be used',
  )
  const libraries = files.flatMap(({ path, imports }) =>
    imports
      .filter(({ from, isRelative }) => !isRelative && !from.startsWith('node:'))
      .map(({ from }) => ({ path, name: /^(?:@[^/]+\/)?[^/]+/.exec(from)![0] })),
  )
  const used = new Set(libraries.map(({ name }) => name))
  assert.deepEqual(
    Object.keys(homes).filter(name => !used.has(name)),
    [],
    'nothing imports these any more',
  )
  const found = libraries.filter(({ path, name }) => !homes[name]?.test(path))
  assert.deepEqual(found, [])
})

test('libraries that are large and seldom needed are not loaded when a process starts', () => {
  // The exports of node:http lead to the fetch and the WebSocket of Node.
  const ofNode = ['node:http']
  const others = ['@scalar/fastify-api-reference', 'imapflow', 'mailauth', 'selfsigned', 'stripe', 'typebox', 'undici']
  // A type costs nothing, and `import()` waits for its first use.
  const atStart = new RegExp(`^(?:import|export) (?!type ).* from '(?:${[...ofNode, ...others].join('|')})[/']`)
  assert.deepEqual(
    objections(file => linesMatching(file, atStart)),
    [],
  )
})

/** What a recipe calls in other files is seen by `platform/db/nesting` when a test runs it. */
test('no transaction is opened inside a transaction', () => {
  const found = objections(({ lines }) => {
    const openers = functionsIn(lines).filter(({ body }) => body.some(line => /\.transact(?:Lightly)?\(/.test(line)))
    const opens = new RegExp(['\\.transact(?:Lightly)?', ...openers.map(({ name }) => `(?<![.\\w])${name}`)].join('|'))
    const opensAgain = new RegExp(`\\.transact(?:Lightly)?\\(.*=>.*(?:${opens.source})\\(`)
    return lines.flatMap((line, start) => {
      if (opensAgain.test(line)) return [`line ${start + 1} opens one inside another`]
      if (!/\.transact(?:Lightly)?\(/.test(line)) return []
      const inner = blockFrom(lines, start).findIndex((each, index) => index > 0 && opensIn(each, opens))
      return inner === -1 ? [] : [`line ${start + inner + 1} is inside the transaction of line ${start + 1}`]
    })
  })
  assert.deepEqual(found, [])
})

const opensIn = (line: string, opens: RegExp): boolean => new RegExp(`(?:${opens.source})\\(`).test(line)

/** The lines up to the next one that is indented as little as the first. */
function blockFrom(lines: string[], start: number): string[] {
  const indent = lines[start]!.search(/\S/)
  const end = lines.findIndex((each, index) => index > start && each.search(/\S/) <= indent && each !== '')
  return lines.slice(start, end === -1 ? undefined : end)
}

const functionsIn = (lines: string[]): { name: string; body: string[] }[] =>
  lines.flatMap((line, start) => {
    const name = /^(?:export )?(?:async )?(?:function\*? (\w+)|const (\w+) = (?:async )?\()/.exec(line)
    return name ? [{ name: (name[1] ?? name[2])!, body: blockFrom(lines, start) }] : []
  })

/** Statements that other folders share are files of their own; so are those of the root, which has no folder. */
const SHARED_SQL =
  /^src\/(platform\/|sending\/queue\/|control\/suspensions\/(locks|progress)\.ts|identity\/accounts\/(cap|legal-hold)\.ts|[\w-]+\.ts$)/

test('statements stand in queries', () => {
  const found = objections(({ path, text }) =>
    /\/([\w-]+-)?queries\.ts$/.test(path) || SHARED_SQL.test(path)
      ? []
      : (text.match(/\b(?:sql|prepared)`\s*(?:select|insert|update|delete|with)\b.*/g) ?? []),
  )
  assert.deepEqual(found, [])
})

test('a table is written by one folder', () => {
  const writers = new Map<string, Set<string>>()
  for (const { path, text } of files) {
    for (const match of text.matchAll(
      /\b(?:insert into|(?<!for |key )update|delete from)\s+([a-z_]+)\s+(?:\(|set\b|where\b|using\b|values\b|as\b|[a-z]\b)/g,
    )) {
      const table = match[1]!
      if (table === 'skip' || table === 'set') continue
      const folders = writers.get(table) ?? new Set()
      writers.set(table, folders.add(folderOf(path)))
    }
  }
  assert.ok(writers.size >= 8, `only ${[...writers.keys()].join(', ')} were seen`)
  const shared = [...writers]
    .filter(([, folders]) => folders.size > 1)
    .map(([table, folders]) => `${table}: ${[...folders].join(', ')}`)
  assert.deepEqual(shared, [])
})

test('finders without reach say so, and these are all of them', () => {
  const named = files.flatMap(({ text }) =>
    [...text.matchAll(/export (?:async )?(?:const|function) (\w+Anywhere)\b|\bas (\w+Anywhere)\b/g)].map(
      match => match[1] ?? match[2]!,
    ),
  )
  assert.deepEqual(named.toSorted(), [
    'compactHoldsAnywhere',
    'countDeliveriesAnywhere',
    'countQueueAnywhere',
    'countWaitingAnywhere',
    'findAccountAnywhere',
    'findAccountOfTenantAnywhere',
    'findClaimedDomainAnywhere',
    'findCustomerAccountIdAnywhere',
    'findLinkedApprovalAnywhere',
    'findLinkedDeliveryAnywhere',
    'findNameAboveAnywhere',
    'findNameBelowAnywhere',
    'findPlatformDomainAnywhere',
    'findSubscriptionAnywhere',
    'findVerifiedDomainAnywhere',
    'listAccountTotalsAnywhere',
    'listAccountsAnywhere',
    'listActiveEndpointsAnywhere',
    'listActiveScopesAnywhere',
    'listBilledAccountsAnywhere',
    'listCredentialsByUsernameAnywhere',
    'listDeliveriesForUpdateAnywhere',
    'listDeliveryEventsAnywhere',
    'listDiscardedAnywhere',
    'listDraftsAnywhere',
    'listExpiredAnywhere',
    'listInboxesByIdAnywhere',
    'listInboxesToRemoveAnywhere',
    'listKeysByPrefixAnywhere',
    'listOperatorAccountsAnywhere',
    'listOverridesAnywhere',
    'listSealedKeysAnywhere',
    'listStatesAnywhere',
    'listToDrainAnywhere',
    'listToParkAnywhere',
    'listUnhashedAnywhere',
    'listUnheldAccountsAnywhere',
    'listWithOverdueAnywhere',
    'requireAccountAnywhere',
  ])
})

test('the environment, time, chance and the network have one door each', () => {
  const doors: [RegExp, RegExp, string][] = [
    [/\bprocess\.env\b/, /^src\/platform\/(config\.ts|embedded-postgres\/)/, 'process.env'],
    [/\bDate\.now\(|new Date\(\)/, /^src\/platform\/clock\.ts/, 'the system time'],
    [/\bMath\.random\(/, /^$/, 'Math.random'],
    [/(?<![.\w#])fetch\(/, /^$/, 'fetch'],
    [/\bconsole\./, /^src\/(main|commands)\.ts/, 'console'],
  ]
  const found = objections(file =>
    doors.flatMap(([pattern, home, name]) =>
      home.test(file.path) ? [] : linesMatching(file, pattern).map(line => `${name} at ${line}`),
    ),
  )
  assert.deepEqual(found, [])
})

/** The formatter breaks at 120 what it can break; SQL and strings get a little more. */
const LINE_MAX = 128

test('files, functions and lines keep their length', () => {
  const found = objections(({ lines }) => [
    ...(lines.length > 301 ? [`${lines.length} lines`] : []),
    ...lines.flatMap((line, index) =>
      line.length > LINE_MAX ? [`line ${index + 1} has ${line.length} characters`] : [],
    ),
    ...longFunctions(lines),
  ])
  assert.deepEqual(found, [])
})

/** The formatter puts a function's closing brace, alone, at the indentation of its first line. */
function longFunctions(lines: string[]): string[] {
  return lines.flatMap((line, start) => {
    const name =
      /^ *(?:export )?(?:async )?function\*? (\w+)/.exec(line) ??
      /^ *(?:export )?const (\w+)\b.* = (?:async )?(?:<.*>)?\((?:.*[{(])?$/.exec(line) ??
      /^ *(?:static |async |get |\*)*(#?\w+)(?:<.*>)?\((?:.*[{(])?$/.exec(line)
    if (!name || /^\s*(if|for|while|switch|return|await)\b/.test(line)) return []
    const close = `${' '.repeat(line.search(/\S/))}}`
    const end = lines.findIndex((each, index) => index > start && each === close)
    const other = lines.findIndex((each, index) => index > start && isEndOfStatement(each, close))
    return end === other && end - start > 60 ? [`${name[1]} has ${end - start + 1} lines`] : []
  })
}

/** What is less or equally indented and no part of a signature. A call that spans lines ends so, and is no function. */
const isEndOfStatement = (line: string, close: string): boolean =>
  line !== '' &&
  line.search(/\S/) < close.length &&
  (line === close || !/^\s*[)}\]]/.test(line) || /^\s*[)}\]]+$/.test(line))

const FOLDER_FILES_MAX = 25

test('no folder has more files than one can survey', () => {
  const folders = Map.groupBy(files, ({ path }) => folderOf(path))
  const found = [...folders]
    .filter(([, own]) => own.length > FOLDER_FILES_MAX)
    .map(([folder, own]) => `${folder}: ${own.length} files`)
  assert.deepEqual(found, [])
})

test('every file begins by saying what it is for', () => {
  const found = objections(({ lines }) =>
    lines[0]?.startsWith('// ') || lines[0]?.startsWith('/**') ? [] : ['no opening comment'],
  )
  assert.deepEqual(found, [])
})

test('no array is spread into the arguments of a call: a large one exhausts the stack', () => {
  const found = objections(({ lines }) =>
    lines.flatMap((line, index) =>
      /\b(?:push|unshift|record|max|min|concat|fromCharCode)\((?:\.\.\.|[^(){}[\]]*, \.\.\.)/.test(line)
        ? [`line ${index + 1}`]
        : [],
    ),
  )
  assert.deepEqual(found, [])
})

test('no barrels, no default exports, no files for odds and ends', () => {
  const found = objections(({ path, text }) => [
    ...(/^export \* from/m.test(text) ? ['re-exports a whole module'] : []),
    ...(/^export default/m.test(text) ? ['has a default export'] : []),
    ...(/\/(utils?|helpers?|types|common|index|misc)\.ts$/.test(path) ? ['is named after nothing'] : []),
  ])
  assert.deepEqual(found, [])
})
