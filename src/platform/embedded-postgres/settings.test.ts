import assert from 'node:assert/strict'
import test from 'node:test'
import { serverArguments, sharedBuffers } from './settings.ts'

const GIGABYTE = 2 ** 30

test('buffers are a sixteenth of the memory, never less than 128 MB nor more than 1 GB', () => {
  assert.equal(sharedBuffers(GIGABYTE / 2), '128MB')
  assert.equal(sharedBuffers(4 * GIGABYTE), '256MB')
  assert.equal(sharedBuffers(24 * GIGABYTE), '1024MB')
})

test('what the caller sets goes before our own, and a folder with a comma or a quote is one folder', () => {
  const given = serverArguments({ cluster: '/c', socketFolder: '/a,"b', settings: { shared_buffers: '16MB' } })
  assert.deepEqual(given.slice(0, 2), ['-D', '/c'])
  assert.deepEqual(
    given.filter(argument => argument.startsWith('shared_buffers=')),
    ['shared_buffers=16MB'],
  )
  assert(given.includes('unix_socket_directories="/a,""b"'))
  assert(given.includes('fsync=on'))
})
