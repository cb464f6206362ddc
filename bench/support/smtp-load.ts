// A fixed number of messages over SMTP submission: kept-open connections that log in once, from a thread of its own. A lean
// client on raw sockets, like the one for HTTP; commands are pipelined as a mail server would.
import { connect } from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export interface SmtpLoad {
  port: number
  /** Null: no AUTH. */
  login: { username: string; password: string } | null
  connections: number
  messages: number
  /** Sent in turn, dots doubled by the caller. */
  mails: readonly { from: string; to: string; content: string }[]
}

/** Answers the seconds it took; throws at a reply that is not what it should be. */
export async function smtpLoad(load: SmtpLoad): Promise<number> {
  const worker = new Worker(new URL(import.meta.url), { workerData: load })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

if (!isMainThread && parentPort) {
  const load = workerData as SmtpLoad
  const began = performance.now()
  let sent = 0
  const take = () => (sent < load.messages ? load.mails[sent++ % load.mails.length]! : null)
  await Promise.all(Array.from({ length: load.connections }, () => drive(load, take)))
  parentPort.postMessage((performance.now() - began) / 1000)
}

/** What to say next after so many replies, and the code that each must have. */
interface Step {
  say: string
  codes: number[]
}

function drive(load: SmtpLoad, take: () => SmtpLoad['mails'][number] | null): Promise<void> {
  const { login } = load
  const token = login && Buffer.from(`\0${login.username}\0${login.password}`).toString('base64')
  return new Promise((resolve, reject) => {
    const socket = connect(load.port, '127.0.0.1')
    let text = ''
    let owed: number[] = [220]
    const steps: Step[] = [{ say: 'EHLO bench.test\r\n', codes: [250] }]
    if (token) steps.push({ say: `AUTH PLAIN ${token}\r\n`, codes: [235] })
    const next = (): void => {
      const mail = steps.length === 0 ? take() : null
      if (mail) {
        const { from, to, content } = mail
        steps.push({ say: `MAIL FROM:<${from}>\r\nRCPT TO:<${to}>\r\nDATA\r\n`, codes: [250, 250, 354] })
        steps.push({ say: `${content}\r\n.\r\n`, codes: [250] })
      }
      const step = steps.shift()
      if (!step) {
        socket.end('QUIT\r\n')
        return resolve()
      }
      owed = [...step.codes]
      socket.write(step.say)
    }
    socket.setEncoding('latin1')
    socket.on('error', reject)
    socket.on('data', chunk => {
      text += String(chunk)
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end)
        text = text.slice(end + 2)
        if (line[3] === '-') continue
        if (!line.startsWith(String(owed[0]))) return reject(new Error(`expected ${owed[0]}, got ${line}`))
        owed.shift()
      }
      if (owed.length === 0) next()
    })
  })
}
