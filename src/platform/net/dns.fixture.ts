// A DNS server on loopback for tests: it holds what a test publishes, and fails the way a test asks it to.
import { createSocket } from 'node:dgram'
import dns2 from 'dns2'

const { Packet } = dns2

type Fault = 'SERVFAIL' | 'REFUSED' | 'silence'

export interface FakeDns {
  /** For DNS_SERVERS. */
  address: string
  /** Several texts make several records; an inner array makes one record of several strings. */
  txt(name: string, ...texts: (string | string[] | Buffer)[]): void
  cname(name: string, target: string): void
  mx(name: string, ...hosts: string[]): void
  /** IPv4 and IPv6 addresses, in place of those that the name had. */
  addresses(name: string, ...addresses: string[]): void
  remove(name: string): void
  /** Answers about this name are called authentic. */
  sign(name: string): void
  /** Every question about this name meets the fault, until `mend`. */
  breakDown(name: string, fault: Fault): void
  mend(name: string): void
  /** Publishes records as the API answered them. */
  publish(records: { type: string; name: string; value: string; priority: number | null }[]): void
  questions: string[]
  close(): Promise<void>
}

interface Published {
  type: number
  fields: object
}

/** What does not fit into a datagram is asked again over TCP, at the same port, which may be taken for datagrams. */
async function listenTwice(handle: dns2.DnsHandler) {
  for (;;) {
    const overTcp = dns2.createServer({ tcp: true, handle })
    const { tcp } = await overTcp.listen({ tcp: { port: 0, host: '127.0.0.1' } as never })
    const { port } = tcp!
    if (await isFreeForDatagrams(port)) {
      const overUdp = dns2.createServer({ udp: true, handle })
      await overUdp.listen({ udp: { port, address: '127.0.0.1' } })
      return { overTcp, overUdp, port }
    }
    await overTcp.close()
  }
}

const isFreeForDatagrams = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = createSocket('udp4')
    socket.once('error', () => resolve(false))
    socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(true)))
  })

export async function aDnsServer(): Promise<FakeDns> {
  const zone = new Map<string, Published[]>()
  const faults = new Map<string, Fault>()
  const signed = new Set<string>()
  const questions: string[] = []
  const handle: dns2.DnsHandler = (request, send) => {
    const response = Packet.createResponseFromRequest(request)
    const [question] = request.questions
    const name = question!.name.toLowerCase()
    const type = (question as unknown as { type: number }).type
    questions.push(`${name} ${type}`)
    const fault = faults.get(name)
    if (fault === 'silence') return
    const known = zone.get(name)
    Object.assign(response.header, { ad: signed.has(name) && !fault ? 1 : 0 })
    if (fault) response.header.rcode = Packet.RCODE[fault]
    else if (!known) response.header.rcode = Packet.RCODE.NXDOMAIN
    for (const { fields } of fault ? [] : (known ?? []).filter(each => each.type === type)) {
      response.answers.push({ name, type, class: Packet.CLASS.IN, ttl: 300, ...fields } as never)
    }
    void send(response)
  }
  const { overTcp, overUdp, port } = await listenTwice(handle)
  const add = (name: string, record: Published) => zone.set(name, [...(zone.get(name) ?? []), record])
  const fake: FakeDns = {
    address: `127.0.0.1:${port}`,
    txt: (name, ...texts) =>
      texts.forEach(text => add(name, { type: Packet.TYPE.TXT, fields: { data: strings(text) } })),
    cname: (name, target) => add(name, { type: Packet.TYPE.CNAME, fields: { domain: target } }),
    mx: (name, ...hosts) =>
      hosts.forEach((exchange, index) =>
        add(name, { type: Packet.TYPE.MX, fields: { exchange, priority: 10 * (index + 1) } }),
      ),
    addresses: (name, ...addresses) => {
      zone.delete(name)
      for (const address of addresses) {
        add(name, { type: address.includes(':') ? Packet.TYPE.AAAA : Packet.TYPE.A, fields: { address } })
      }
    },
    remove: name => void zone.delete(name),
    sign: name => void signed.add(name),
    breakDown: (name, fault) => void faults.set(name, fault),
    mend: name => void faults.delete(name),
    publish: records => {
      for (const { type, name, value } of records) {
        if (type === 'TXT') fake.txt(name, value)
        if (type === 'CNAME') fake.cname(name, value)
        if (type === 'MX') fake.mx(name, value)
      }
    },
    questions,
    close: async () => void (await Promise.all([overTcp.close(), overUdp.close()])),
  }
  return fake
}

/** No string of a record is longer than 255 bytes. */
const strings = (text: string | string[] | Buffer): (string | Buffer)[] =>
  typeof text === 'string' ? (text.match(/.{1,255}/gs) ?? ['']) : Array.isArray(text) ? text : [text]
