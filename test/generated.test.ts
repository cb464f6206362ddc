// The committed descriptions say what the code does.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { describeApi } from '../src/app.ts'
import { variables } from '../src/platform/config.ts'
import { describeSchema } from '../scripts/schema-text.ts'
import { aDatabase, theBox } from './support/box.ts'

const committed = (name: string) => readFile(new URL(`../${name}`, import.meta.url), 'utf8')

test('openapi.json is the document of the contracts, and the one that is served', async () => {
  const { app, client } = await theBox()
  const document = JSON.parse(JSON.stringify(describeApi(app.contracts)))
  assert.deepEqual(JSON.parse(await committed('openapi.json')), document, 'run `npm run generate`')
  assert.deepEqual((await client().get('/openapi.json')).body, document)
})

test('the document names each operation once, declares its tags and says where it is served', async () => {
  const { app } = await theBox()
  const document = JSON.parse(JSON.stringify(describeApi(app.contracts))) as {
    servers: { url: string }[]
    tags: { name: string }[]
    paths: Record<
      string,
      Record<string, { operationId: string; tags: string[]; parameters?: { in: string; name: string }[] }>
    >
  }
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map(operation => ({ path, ...operation })),
  )
  const ids = operations.map(({ operationId }) => operationId)
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  )
  for (const id of ids) assert.match(id, /^[a-z]+[A-Z]\w*$/)
  const declared = document.tags.map(({ name }) => name)
  assert.equal(new Set(declared).size, declared.length)
  assert.deepEqual([...new Set(operations.flatMap(({ tags }) => tags))].toSorted(), declared.toSorted())
  assert.ok(document.servers.length > 0)
  for (const { path, parameters = [] } of operations) {
    const inPath = parameters.filter(parameter => parameter.in === 'path').map(({ name }) => `{${name}}`)
    assert.deepEqual(path.match(/\{\w+\}/g) ?? [], inPath, path)
  }
})

test('schema.sql is the schema after all migrations', async () => {
  assert.equal(await describeSchema(await aDatabase()), await committed('schema.sql'), 'run `npm run generate`')
})

test('the README documents every variable of the configuration', async () => {
  const readme = await committed('README.md')
  for (const name of Object.keys(variables)) assert.ok(readme.includes(`\`${name}\``), name)
})

test('the API reference is served from this machine alone', async () => {
  const { client } = await theBox()
  const page = await client().get('/docs/')
  assert.equal(page.status, 200)
  assert.match(page.body, /openapi\.json/)
  assert.doesNotMatch(page.body, /(src|href)="https?:/)
})
