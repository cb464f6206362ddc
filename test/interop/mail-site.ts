// Sluice and a Postfix of somebody else, which asks OpenDKIM about what it receives.
import { createTransport, type SendMailOptions } from 'nodemailer'
import { startVerifyingOpenDkim } from '../support/programs/opendkim.ts'
import { startPeerPostfix, type Peer } from '../support/programs/postfix.ts'
import { aCustomer, type Customer, type Sluice } from './site.ts'

export const PEER = 'peer.test'

export interface MailSite {
  sluice: Sluice
  customer: Customer
  peer: Peer
  /** Hands a mail of sender@ the peer's domain to Postfix. */
  inject(mail: SendMailOptions): Promise<void>
  close(): Promise<void>
}

export async function aMailSite(sluice: Sluice, peerPort: number, hasOpenDkim: boolean): Promise<MailSite> {
  const customer = await aCustomer(sluice, 'postfix')
  const opendkim = hasOpenDkim ? await startVerifyingOpenDkim(PEER, [customer.dkim]) : null
  const users = Array.from({ length: 10 }, (_, n) => `user${n}`)
  const peer = await startPeerPostfix({
    port: peerPort,
    domain: PEER,
    locals: ['sender', 'reader', ...users],
    next: { domain: customer.domain, port: sluice.mxPort },
    milterPort: opendkim?.port ?? null,
  })
  return {
    sluice,
    customer,
    peer,
    inject: async mail => {
      const transport = createTransport({ host: '127.0.0.1', port: peer.port, secure: false, ignoreTLS: true })
      await transport.sendMail({ from: `sender@${PEER}`, ...mail }).finally(() => transport.close())
    },
    close: async () => {
      await peer.stop()
      await opendkim?.stop()
    },
  }
}
