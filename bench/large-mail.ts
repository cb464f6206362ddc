// Mail of nearly 40 MB with 200 attachments, and how long the requests of others take while it is received, read and filed.
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { percentile, report } from './support/report.ts'
import { residentMegabytes, type BenchServer } from './support/server.ts'

const MAILS = 3
const ATTACHMENTS = 200
const ATTACHMENT_BYTES = 140_000

interface Target {
  server: BenchServer
  bearer: string
  to: string
  send: (content: string) => Promise<void>
  /** How many mails were filed since the server began. */
  filed: () => Promise<number>
}

export async function benchLargeMail({ server, bearer, to, send, filed }: Target): Promise<void> {
  const before = await filed()
  // Made before anybody asks: it takes this process half a second, which would count as the server's.
  const mail = largeMail(to)
  let isDone = false
  let megabytes = 0
  const times: number[] = []
  const asking = (async () => {
    while (!isDone) {
      const began = performance.now()
      const reply = await fetch(`${server.url}/v1/tenants?limit=1`, { headers: { authorization: `Bearer ${bearer}` } })
      await reply.arrayBuffer()
      times.push(performance.now() - began)
      megabytes = Math.max(megabytes, await residentMegabytes(server.pid))
      await delay(10)
    }
  })()
  for (let n = 0; n < MAILS; n++) await send(mail)
  while ((await filed()) < before + MAILS) await delay(200)
  isDone = true
  await asking
  const [p99, worst] = [percentile(times, 0.99), Math.max(...times)]
  const name = `while ${MAILS} mails of ${(mail.length / 1e6).toFixed(0)} MB with ${ATTACHMENTS} files come, other requests`
  report({ name: `${name}, p99 ms`, value: p99.toFixed(0) })
  report({ name: '  the slowest, ms', value: worst.toFixed(0), target: '<= 250', isMet: worst <= 250 })
  report({ name: '  server, MB', value: megabytes.toFixed(0) })
}

function largeMail(to: string): string {
  const boundary = 'bench-large'
  const files = Array.from({ length: ATTACHMENTS }, (_, n) =>
    [
      `--${boundary}`,
      `Content-Type: application/octet-stream; name="file-${n}.bin"`,
      `Content-Disposition: attachment; filename="file-${n}.bin"`,
      'Content-Transfer-Encoding: base64',
      '',
      randomBytes(ATTACHMENT_BYTES).toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
      '',
    ].join('\r\n'),
  )
  return [
    'From: a@sender.test',
    `To: ${to}`,
    'Subject: Many files',
    'MIME-Version: 1.0',
    `Content-Type: multipart/mixed; boundary="${boundary}"`,
    '',
    ...files,
    `--${boundary}--\r\n`,
  ].join('\r\n')
}
