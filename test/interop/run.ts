// `npm run interop [-- postfix opendkim swaks curl python databases dovecot]`: Sluice with the programs it meets in the world. They
// come from Debian's packages where they can be installed, and are skipped with a line where not. All on loopback.
import { whyMissing } from '../support/programs/debian.ts'
import { freePort } from '../support/programs/ports.ts'
import { check, failed, skip } from './checks.ts'
import { tryCurl } from './curl.ts'
import { tryDatabases } from './databases.ts'
import { tryDovecot } from './dovecot.ts'
import { aMailSite, PEER } from './mail-site.ts'
import { tryOpenDkim } from './opendkim.ts'
import { tryPostfix } from './postfix.ts'
import { tryPython } from './python.ts'
import { startSluice, type Sluice } from './site.ts'
import { trySwaks } from './swaks.ts'

const NAMES = ['postfix', 'opendkim', 'swaks', 'curl', 'python', 'databases', 'dovecot']
const chosen = process.argv.slice(2)
const unknown = chosen.filter(name => !NAMES.includes(name))
if (unknown.length > 0) {
  console.error(`interop: there is no ${unknown.join(', ')}; there are ${NAMES.join(', ')}`)
  process.exit(2)
}
// What was started ends with us.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))

const isChosen = (name: string): boolean => chosen.length === 0 || chosen.includes(name)
const began = performance.now()

if (process.getuid?.() === 0 && process.platform === 'linux') {
  if (NAMES.slice(0, 5).some(isChosen)) await attempt('mail', tryMail)
  if (isChosen('databases')) await attempt('databases', tryDatabases)
  const packages = 'dovecot-imapd dovecot-submissiond python3'
  const probe = 'test -x /usr/lib/dovecot/imap && test -x /usr/lib/dovecot/submission'
  await tryProgram('dovecot', () => whyMissing(packages, ['dovecot', 'python3'], probe), tryDovecot)
} else {
  skip('everything', 'the programs change their user when they start, and only root may do that')
}
const seconds = Math.round((performance.now() - began) / 1000)
const count = failed().length
console.log(`\n${count === 0 ? '✓ all that was tried works' : `✗ ${count} failed`} (${seconds} s)`)
process.exit(count === 0 ? 0 : 1)

/** What one program breaks must not keep the others from being tried. */
async function attempt(name: string, act: () => Promise<void>): Promise<void> {
  await act().catch((error: unknown) => check(`${name} can be tried`, () => Promise.reject(error)))
}

/** One Sluice for all of them, with an account of its own for each. */
async function tryMail(): Promise<void> {
  const peerPort = await freePort()
  const sluice = await startSluice({ SMTP_ROUTES: `${PEER}=127.0.0.1:${peerPort}` })
  try {
    if (isChosen('postfix') || isChosen('opendkim')) await attempt('Postfix', () => tryServers(sluice, peerPort))
    const swaks = () => whyMissing('swaks libnet-ssleay-perl', ['swaks'], 'perl -MNet::SSLeay -e 1')
    await tryProgram('swaks', swaks, () => trySwaks(sluice))
    await tryProgram(
      'curl',
      () => whyMissing('curl', ['curl', 'bash']),
      () => tryCurl(sluice),
    )
    await tryProgram(
      'python',
      () => whyMissing('python3', ['python3']),
      () => tryPython(sluice),
    )
  } finally {
    await sluice.stop()
  }
}

async function tryProgram(name: string, missingOf: () => string | null, act: () => Promise<void>): Promise<void> {
  if (!isChosen(name)) return
  const missing = missingOf()
  if (missing) skip(name, missing)
  else await attempt(name, act)
}

async function tryServers(sluice: Sluice, peerPort: number): Promise<void> {
  const missing = whyMissing('postfix', ['postfix'])
  if (missing) return skip('Postfix, and OpenDKIM behind it', missing)
  const dkimMissing = whyMissing('opendkim', ['opendkim'])
  const site = await aMailSite(sluice, peerPort, dkimMissing === null)
  try {
    if (isChosen('postfix')) await tryPostfix(site)
    if (!isChosen('opendkim')) return
    if (dkimMissing) skip('OpenDKIM', dkimMissing)
    else await tryOpenDkim(site)
  } finally {
    await site.close()
  }
}
