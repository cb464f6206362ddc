// curl with the commands of the README, as they stand there.
import assert from 'node:assert/strict'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { check, run, section, version } from './checks.ts'
import type { Sluice } from './site.ts'

export async function tryCurl(sluice: Sluice): Promise<void> {
  section('curl: the first commands of the README', await version('curl', ['--version']))
  const readme = await readFile('README.md', 'utf8')
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block!)
  const [first, operator, pauses] = ['KEY=svc_', '/admin/v1/accounts ', '/pause -H'].map(words =>
    blocks.find(block => block.includes(words)),
  )
  const home = join(sluice.dataDir, 'reader')
  await mkdir(home)
  // What curl's own configuration says: fail where the server refuses, and show what it answered.
  await writeFile(join(home, '.curlrc'), 'silent\nshow-error\nfail-with-body\n')
  await symlink(sluice.dataDir, join(home, 'data'))
  await writeFile(join(sluice.dataDir, 'operator-token'), sluice.adminToken)
  const shell = (script: string) =>
    run('bash', ['-ec', `${settings(sluice)}\n${script}`], { cwd: home, env: { CURL_HOME: home, HOME: home } })

  await check('the first message is accepted, and the lists answer', async () => {
    const commands = first!.replace(/^(KEY|TENANT|API)=.*\n/gm, '')
    const { status, output } = await shell(commands)
    assert.equal(status, 0, output)
    assert.match(output, /"message_id":/)
    assert.match(output, /"events":\[/)
    assert.match(output, /"action":"message\.send"/)
  })
  await check('the message is delivered', async () => {
    const list = first!.split('\n').find(line => line.endsWith('# delivered'))!
    await eventually('delivered', async () => /"delivered":1/.test((await shell(list)).output))
  })
  await check('the operator creates an account and verifies the audit log', async () => {
    const { status, output } = await shell(operator!)
    assert.equal(status, 0, output)
    assert.match(output, /"name":"Acme"/)
    assert.match(output, /"intact":true/)
  })
  await check('a tenant is paused and resumed, and a tag is paused', async () => {
    const { status, output } = await shell(pauses!)
    assert.equal(status, 0, output)
    assert.match(output, /"scope_value":"tag:spring-sale"/)
  })
  await rm(home, { recursive: true, force: true })
}

/** What the reader takes from the welcome. */
function settings({ url, output }: Sluice): string {
  const key = /svc_\S+/.exec(output())![0]
  const tenant = /Tenant .*\(([0-9a-f-]{36})\)/.exec(output())![1]!
  return `KEY=${key}\nTENANT=${tenant}\nAPI=${url}`
}
