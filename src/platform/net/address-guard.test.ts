// Addresses that a stranger's DNS may and may not send us to, in all the ways they can be written.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cidrList } from './cidr.ts'
import { isLoopback, isPublic, mayConnect } from './address-guard.ts'

const NONE = cidrList([])

test('public addresses may be reached', () => {
  const addresses = [
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.167.255.255',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2001:4860:4860::8888',
    '2606:4700::1111',
    '2a00:1450:4001:800::200e',
    '2003::1',
  ]
  for (const address of addresses) assert.equal(mayConnect(address, NONE), true, address)
})

test('every kind of address that is not public is refused', () => {
  const addresses = {
    'this network': ['0.0.0.0', '0.1.2.3'],
    loopback: ['127.0.0.1', '127.255.255.255', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1', '::0001'],
    private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
    'link-local': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1', 'FE80::1'],
    'carrier-grade NAT': ['100.64.0.0', '100.127.255.255'],
    'protocol assignments': ['192.0.0.1', '192.0.0.170', '2001::1', '2001:1ff::1'],
    documentation: ['192.0.2.1', '198.51.100.7', '203.0.113.9', '2001:db8::1', '3fff::1', '3fff:fff::1'],
    benchmarks: ['198.18.0.1', '198.19.255.255'],
    '6to4 relays': ['192.88.99.1'],
    multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff00::'],
    reserved: ['240.0.0.1', '255.255.255.255', '4000::1', '8000::1', 'e000::1', '5f00::1', '100::1', '::', '::2'],
    'unique local': ['fc00::1', 'fd00::1', 'fd12:3456:789a::1', 'fec0::1'],
    'IPv4 mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::FFFF:10.0.0.1', '0:0:0:0:0:ffff:a00:1', '::ffff:8.8.8.8'],
    'IPv4 compatible': ['::127.0.0.1', '::7f00:1', '::8.8.8.8'],
    'IPv4 translated': ['::ffff:0:127.0.0.1', '::ffff:0:7f00:1'],
    NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '64:ff9b:1:ffff::10.0.0.1'],
    '6to4': ['2002:7f00:1::', '2002:a00:1::1', '2002:808:808::1'],
    Teredo: ['2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    'not an address': [
      '',
      'localhost',
      '127.1',
      '0177.0.0.1',
      '0x7f.0.0.1',
      '2130706433',
      '1.2.3.4.5',
      '1.2.3',
      '[::1]',
      '::1%',
      '1.1.1.1 ',
    ],
    'public, with a zone': ['2606:4700::1111%eth0'],
  }
  for (const [kind, list] of Object.entries(addresses)) {
    for (const address of list) assert.equal(mayConnect(address, NONE), false, `${kind}: ${address}`)
  }
})

test('what the operator allows may be reached, in every spelling, and nothing else', () => {
  const allowed = cidrList(['127.0.0.0/8', 'fd00::/8', '64:ff9b::/96'])
  for (const address of [
    '127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:7f00:1',
    'fd00::1',
    '64:ff9b::808:808',
  ]) {
    assert.equal(mayConnect(address, allowed), true, address)
  }
  for (const address of ['10.0.0.1', '::ffff:10.0.0.1', '::ffff:a00:1', '::1', 'fc00::1', 'localhost', '']) {
    assert.equal(mayConnect(address, allowed), false, address)
  }
})

test('what clouds tell their own machines is reached only where it is allowed by itself', () => {
  const addresses = ['168.63.129.16', '169.254.169.254', '169.254.170.2', '100.100.100.200', '192.0.0.192']
  const everything = cidrList(['0.0.0.0/0', '::/0', '169.254.0.0/16', '168.63.129.16/31'])
  const spellings = ['::ffff:168.63.129.16', '::ffff:a83f:8110', '64:ff9b::168.63.129.16', '64:ff9b::a9fe:a9fe']
  const six = ['fd00:ec2::254', 'fd00:0ec2:0:0::254', 'fd20:ce::254', 'fe80::a9fe:a9fe']
  for (const address of [...addresses, ...spellings, ...six]) {
    assert.equal(isPublic(address), false, address)
    assert.equal(mayConnect(address, NONE), false, address)
    assert.equal(mayConnect(address, everything), false, `${address} in a network that is allowed`)
  }
  assert.equal(mayConnect('169.254.169.1', everything), true)
  for (const address of [...addresses, ...six]) assert.equal(mayConnect(address, cidrList([address])), true, address)
  const named = cidrList(['168.63.129.16/32', 'fd00:ec2::/32'])
  assert.equal(mayConnect('::ffff:168.63.129.16', named), true)
  assert.equal(mayConnect('fd00:ec2::254', named), false)
  assert.equal(mayConnect('168.63.129.17', NONE), true)
})

test('loopback is known in every spelling', () => {
  const mapped = ['::ffff:127.0.0.1', '::FFFF:127.9.9.9', '::ffff:7f00:1', '0:0:0:0:0:ffff:127.0.0.1']
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1', ...mapped]) {
    assert.equal(isLoopback(address), true, address)
    assert.equal(isPublic(address), false, address)
  }
  for (const address of ['10.0.0.1', '::2', '::ffff:8.8.8.8', '64:ff9b::7f00:1', '127.evil', '', 'localhost'])
    assert.equal(isLoopback(address), false, address)
})
