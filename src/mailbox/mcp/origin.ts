// Pages of other sites must not reach the endpoint through a browser that can: one on the same machine or network.
import { refuse } from '../../platform/refusal.ts'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Browsers name the origin of a page; other clients name none. */
export function checkOrigin(origin: string | undefined, publicUrl: string): void {
  if (origin === undefined) return
  const own = URL.canParse(publicUrl) ? new URL(publicUrl) : null
  const given = URL.canParse(origin) ? new URL(origin) : null
  const isOwn = own !== null && given !== null && given.origin === own.origin
  // Tools of a developer, beside an installation on the same machine.
  const areLocal = own !== null && given !== null && LOOPBACK.has(own.hostname) && LOOPBACK.has(given.hostname)
  if (!isOwn && !areLocal) throw refuse('forbidden', 'Pages of this origin may not call here.')
}
