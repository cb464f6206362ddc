// The committed descriptions say what the code does.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { describeApi } from '../src/app.ts'
import { variables } from '../src/platform/config.ts'
import { describeSchema } from '../src/platform/db/schema-text.ts'
import { aDatabase, theBox } from './support/box.ts'

const committed = (name: string) => readFile(new URL(`../${name}`, import.meta.url), 'utf8')

test('openapi.json is the document of the contracts, and the one that is served', async () => {
  const { app, client } = await theBox()
  const document = JSON.parse(JSON.stringify(describeApi(app.contracts)))
  assert.deepEqual(JSON.parse(await committed('openapi.json')), document, 'run `npm run generate`')
  assert.deepEqual((await client().get('/openapi.json')).body, document)
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
