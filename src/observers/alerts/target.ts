// What an alert is sent to, sealed in its row: a chat URL or a routing key lets any reader speak in our place.
import type { Secrets } from '../../platform/secrets.ts'

export interface StoredTarget {
  /** In clear: of a version that did not seal. */
  target: string | null
  sealed_target: string | null
}

const rowOf = (contactId: string): string => `alert_contacts.target:${contactId}`

export const sealTarget = (secrets: Secrets, contactId: string, target: string): string =>
  secrets.seal(rowOf(contactId), target)

export const openTarget = (secrets: Secrets, contactId: string, { target, sealed_target }: StoredTarget): string =>
  target ?? secrets.open(rowOf(contactId), sealed_target ?? '')
