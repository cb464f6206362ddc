// A known path with another method is 405 and says which methods there are. Asked only when no route was found: routes for
// every other method of every path would take longer to mount than all that answer.
import type { Contract } from './contract.ts'

interface Known {
  segments: readonly string[]
  methods: readonly string[]
}

export class OtherMethods {
  readonly #known: readonly Known[]

  constructor(routes: readonly { contract: Pick<Contract, 'method' | 'path'> }[]) {
    this.#known = routes.map(route => ({ segments: route.contract.path.split('/'), methods: methodsOf(route) }))
  }

  /** What may be asked of this path instead; nothing where no route has the path, or one has it with this very method. */
  insteadOf(method: string, url: string): string[] {
    const segments = url.replace(/\?.*/s, '').split('/')
    const methods = this.#known.flatMap(known => (fits(known.segments, segments) ? known.methods : []))
    return methods.includes(method) ? [] : [...new Set(methods)]
  }
}

/** Of a stream there is no head alone. */
const methodsOf = (route: { contract: Pick<Contract, 'method'> }): string[] =>
  route.contract.method === 'GET' && !('open' in route) ? ['GET', 'HEAD'] : [route.contract.method]

const fits = (known: readonly string[], asked: readonly string[]): boolean =>
  known.length === asked.length &&
  known.every((segment, at) => (segment.startsWith('{') ? asked[at] !== '' : segment === asked[at]))
