// A DNS server with a zone that a test can change while it runs.
import DNS from 'dns2'
import type { TestContext } from 'node:test'

export interface Name {
  MX?: [preference: number, exchange: string][]
  A?: string[]
  AAAA?: string[]
  TXT?: string[]
  CNAME?: string
  /** Raw records: usage, selector, matching, data. */
  TLSA?: Buffer[]
  ttl?: number
  /** The resolver calls every answer about it authentic. */
  isSigned?: boolean
  /** Answers with an error instead. */
  rcode?: 'SERVFAIL' | 'REFUSED' | 'NOTIMP'
  /** Types that are left without any answer, behind `AD` where only the question whether it is signed is. */
  silent?: string[]
}

export interface FakeDns {
  /** For `dnsServers`. */
  server: string
  zone: Record<string, Name>
  /** `TYPE name`, in the order asked, behind `AD` where the question is whether it is signed. */
  queries: string[]
}

const { TYPE, CLASS, RCODE } = DNS.Packet
const TLSA = 52 // unknown to the library, which then sends `data` as it is
const TYPE_NAMES: Record<number, string> = {
  [TYPE.A]: 'A',
  [TYPE.AAAA]: 'AAAA',
  [TYPE.MX]: 'MX',
  [TYPE.TXT]: 'TXT',
  [TYPE.CNAME]: 'CNAME',
  [TLSA]: 'TLSA',
}

export async function aZone(t: TestContext, zone: Record<string, Name>): Promise<FakeDns> {
  const fake: FakeDns = { server: '', zone, queries: [] }
  const server = DNS.createServer({
    udp: true,
    handle: (request, send) => {
      const { name, type } = request.questions[0] as { name: string; type: number }
      const typeName = TYPE_NAMES[type] ?? String(type)
      const { ad } = request.header as { ad?: number }
      const asked = `${ad ? 'AD ' : ''}${typeName}`
      fake.queries.push(`${asked} ${name}`)
      const found = fake.zone[name]
      if (found?.silent?.some(each => each === asked || each === typeName)) return
      const response = DNS.Packet.createResponseFromRequest(request)
      response.header.ra = 1
      Object.assign(response.header, { ad: found?.isSigned ? 1 : 0 })
      response.header.rcode = found === undefined ? RCODE.NXDOMAIN : found.rcode ? RCODE[found.rcode] : RCODE.NOERROR
      const common = { name, type, class: CLASS.IN, ttl: found?.ttl ?? 60 }
      for (const fields of [...recordsOf(found ?? {}, typeName), ...behindAlias(fake.zone, found, typeName)]) {
        response.answers.push({ ...common, ...fields } as unknown as (typeof response.answers)[number])
      }
      void send(response)
    },
  })
  await server.listen({ udp: { port: 0, address: '127.0.0.1' } })
  const { udp } = server.addresses() as { udp: { port: number } }
  fake.server = `127.0.0.1:${udp.port}`
  t.after(() => server.close())
  return fake
}

/** What an alias leads to, at once: if it is no alias itself. */
function behindAlias(zone: FakeDns['zone'], found: Name | undefined, typeName: string): object[] {
  const target = found?.CNAME === undefined || typeName === 'CNAME' ? undefined : zone[found.CNAME]
  if (!target || target.CNAME !== undefined) return []
  return recordsOf(target, typeName).map(fields => ({ name: found!.CNAME, ...fields }))
}

function recordsOf(found: Name, typeName: string): object[] {
  // An alias answers every question, as a resolver would pass it on when it leads nowhere.
  if (found.CNAME !== undefined) return [{ type: TYPE.CNAME, domain: found.CNAME }]
  switch (typeName) {
    case 'MX':
      return (found.MX ?? []).map(([priority, exchange]) => ({ priority, exchange }))
    case 'A':
      return (found.A ?? []).map(address => ({ address }))
    case 'AAAA':
      return (found.AAAA ?? []).map(address => ({ address }))
    case 'TXT':
      return (found.TXT ?? []).map(data => ({ data }))
    case 'TLSA':
      return (found.TLSA ?? []).map(data => ({ data }))
    default:
      return []
  }
}
