// The zone of names under PLATFORM_DOMAIN, which the installation publishes itself: what it would publish is known here, and
// no resolver need have it yet. Mail between two of its names is therefore as provable as any other.
import { SharedCache } from '../../platform/shared-cache.ts'
import type { World } from '../../platform/world.ts'
import { findPlatformDomainAnywhere } from './queries.ts'
import { recordsOf } from './records.ts'

/** How long a deleted name is still known. */
const TTL_MS = 60_000
const ENTRIES_MAX = 10_000

export interface OwnZone {
  /** The texts at a name under PLATFORM_DOMAIN; null for any other name, and for one that nobody has. */
  texts(name: string): string[] | null | Promise<string[] | null>
}

export function ownZone({ config, clock, db }: World): OwnZone {
  const records = new SharedCache<Map<string, string>>({
    clock,
    entriesMax: ENTRIES_MAX,
    load: async name => {
      const domain = await findPlatformDomainAnywhere(db, name)
      const texts = domain ? recordsOf(config, domain).filter(({ type }) => type === 'TXT') : []
      return { value: new Map(texts.map(record => [record.name, record.value])), ttlMs: TTL_MS }
    },
  })
  return {
    texts: async name => {
      const asked = name.toLowerCase()
      if (!asked.endsWith(`.${config.PLATFORM_DOMAIN}`)) return null
      const text = (await records.get(registeredName(asked))).get(asked)
      return text === undefined ? null : [text]
    },
  }
}

/** Without the labels that records are published under. */
const registeredName = (name: string): string => name.replace(/^(?:[^.]+\._domainkey|_dmarc)\./, '')
