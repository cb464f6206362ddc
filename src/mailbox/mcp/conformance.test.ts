// The conformance suite of the protocol's authors, as far as it asks for no tools of its own.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { anAccount } from '../../../test/support/factories.ts'

const SUITE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

test('the scenarios of the conformance suite pass', async t => {
  const { box, bearer } = await anAccount()
  // The suite cannot send a key.
  const proxy = createServer((asked, answer) => {
    const { method, headers } = asked
    const forwarded = request(`${box.url}/mcp`, { method, headers: { ...headers, authorization: `Bearer ${bearer}` } })
    forwarded.on('response', given => given.pipe(answer.writeHead(given.statusCode!, given.headers)))
    asked.pipe(forwarded)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const folder = await mkdtemp(join(tmpdir(), 'sluice-conformance-'))
  t.after(async () => {
    proxy.closeAllConnections()
    proxy.close()
    await rm(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`
  await Promise.all(
    SCENARIOS.map(async scenario => {
      const given = [SUITE, 'server', '--url', url, '--scenario', scenario, '-o', join(folder, scenario)]
      const { stdout } = await promisify(execFile)(process.execPath, given).catch(
        (error: { stdout: string; stderr: string }) => assert.fail(`${scenario}: ${error.stdout}${error.stderr}`),
      )
      assert.match(stdout, /Passed: (\d+)\/\1, 0 failed, 0 warnings/, scenario)
    }),
  )
})
