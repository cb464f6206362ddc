// What tests hold both matchers against: one pause and one recipient, compared in the plainest way.
import { kindOf, type PauseFacts, type PauseScope } from './scopes.ts'

export function applies(pause: PauseScope, facts: PauseFacts): boolean {
  const found = kindOf(pause)
  if (found === null || (found.onlyTenant !== null && found.onlyTenant !== facts.tenantId)) return false
  return found.kind.facts(facts).includes(found.value)
}
