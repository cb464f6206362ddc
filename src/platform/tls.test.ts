// The certificate of the SMTP ports.
import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createSecureContext } from 'node:tls'
import { steerableClock } from '../../test/support/clock.ts'
import { loadTlsIdentity } from './tls.ts'

const folders: string[] = []
after(() => Promise.all(folders.map(folder => rm(folder, { recursive: true }))))

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-tls-'))
  folders.push(folder)
  return folder
}

const config = (folder: string, rest: object = {}) => ({
  TLS_CERT: null,
  TLS_KEY: null,
  DATA_DIR: folder,
  MX_HOST: 'mx.sluice.test',
  ...rest,
})

test('without files a certificate for MX_HOST is made once, and its key is for us alone', async () => {
  const folder = await aFolder()
  const first = await loadTlsIdentity(config(join(folder, 'new')), steerableClock())
  const second = await loadTlsIdentity(config(join(folder, 'new')), steerableClock())

  assert.deepEqual(second, first)
  assert.equal(first.isSelfSigned, true)
  const certificate = new X509Certificate(first.cert)
  assert.equal(certificate.checkHost('mx.sluice.test'), 'mx.sluice.test')
  assert.ok(certificate.checkPrivateKey(createPrivateKey(first.key)))
  createSecureContext(first)
  assert.deepEqual(await readdir(join(folder, 'new')), ['smtp-tls.pem'])
  assert.equal((await stat(join(folder, 'new', 'smtp-tls.pem'))).mode & 0o777, 0o600)
})

test('processes that start together share one certificate', async () => {
  const folder = await aFolder()
  const all = await Promise.all(Array.from({ length: 4 }, () => loadTlsIdentity(config(folder), steerableClock())))
  for (const each of all) assert.deepEqual(each, all[0])
  assert.deepEqual(await readdir(folder), ['smtp-tls.pem'])
})

test('it is made anew for another host, and before it ends', async () => {
  const folder = await aFolder()
  const clock = steerableClock()
  const first = await loadTlsIdentity(config(folder), clock)

  const renamed = await loadTlsIdentity(config(folder, { MX_HOST: 'mail.example.com' }), clock)
  assert.equal(new X509Certificate(renamed.cert).checkHost('mail.example.com'), 'mail.example.com')
  assert.notEqual(renamed.cert, first.cert)

  clock.advance(3_640 * 24 * 3_600_000)
  const renewed = await loadTlsIdentity(config(folder, { MX_HOST: 'mail.example.com' }), clock)
  assert.notEqual(renewed.cert, renamed.cert)
})

test('own files are used as they are', async () => {
  const folder = await aFolder()
  const { cert, key } = await loadTlsIdentity(config(folder), steerableClock())
  const files = { TLS_CERT: join(folder, 'cert.pem'), TLS_KEY: join(folder, 'key.pem') }
  await writeFile(files.TLS_CERT, cert)
  await writeFile(files.TLS_KEY, key)

  assert.deepEqual(await loadTlsIdentity(config(folder, files), steerableClock()), { cert, key, isSelfSigned: false })
})

test('a file that is missing, is no certificate or does not match gives one line that names the variable', async () => {
  const folder = await aFolder()
  const other = await aFolder()
  const { cert, key } = await loadTlsIdentity(config(folder), steerableClock())
  const foreign = await loadTlsIdentity(config(other), steerableClock())
  const store = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const good = { TLS_CERT: await store('cert.pem', cert), TLS_KEY: await store('key.pem', key) }
  const cases: [object, RegExp][] = [
    [{ ...good, TLS_CERT: join(folder, 'none.pem') }, /^TLS_CERT \(.*none\.pem\) cannot be read: ENOENT$/],
    [{ ...good, TLS_KEY: join(folder, 'none.pem') }, /^TLS_KEY \(.*none\.pem\) cannot be read: ENOENT$/],
    [{ ...good, TLS_CERT: good.TLS_KEY }, /^TLS_CERT \(.*key\.pem\) does not contain a PEM certificate$/],
    [{ ...good, TLS_KEY: good.TLS_CERT }, /^TLS_KEY \(.*cert\.pem\) does not contain a PEM private key/],
    [{ ...good, TLS_KEY: await store('foreign.pem', foreign.key) }, /^TLS_KEY \(.*\) is not the key of the first/],
  ]
  for (const [files, message] of cases) {
    await assert.rejects(loadTlsIdentity(config(folder, files), steerableClock()), { message })
  }
})

test('a kept file that is damaged is reported, not silently replaced', async () => {
  const folder = await aFolder()
  await writeFile(join(folder, 'smtp-tls.pem'), 'rubbish')
  await chmod(join(folder, 'smtp-tls.pem'), 0o600)

  await assert.rejects(loadTlsIdentity(config(folder), steerableClock()), { message: /remove it, or set TLS_CERT/ })
  assert.equal(await readFile(join(folder, 'smtp-tls.pem'), 'utf8'), 'rubbish')
})
