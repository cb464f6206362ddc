// A known path with another method is 405 and says which methods there are. Asked only when no route was found: routes for
// every other method of every path would take longer to mount than all that answer.
import type { Contract } from './contract.ts'

/** What may be asked of a path instead; nothing where no route has the path, or one has it with this very method. */
export function otherMethods(routes: readonly { contract: Pick<Contract, 'method' | 'path'> }[]) {
  const all = routes.map(route => ({ segments: route.contract.path.split('/'), methods: methodsOf(route) }))
  return (method: string, url: string): string[] => {
    const segments = url.replace(/\?.*/s, '').split('/')
    const methods = all.flatMap(known => (fits(known.segments, segments) ? known.methods : []))
    return methods.includes(method) ? [] : [...new Set(methods)]
  }
}

/** Of a stream there is no head alone. */
const methodsOf = (route: { contract: Pick<Contract, 'method'> }): string[] =>
  route.contract.method === 'GET' && !('open' in route) ? ['GET', 'HEAD'] : [route.contract.method]

const fits = (known: readonly string[], asked: readonly string[]): boolean =>
  known.length === asked.length &&
  known.every((segment, at) => (segment.startsWith('{') ? asked[at] !== '' : segment === asked[at]))
