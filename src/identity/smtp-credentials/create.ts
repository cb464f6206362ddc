// Creating an SMTP credential.
import { randomBytes } from 'node:crypto'
import type { Actor } from '../../platform/db/actor.ts'
import { newId } from '../../platform/ids.ts'
import type { Reach } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import { mintSecret, sha256 } from '../../platform/secrets.ts'
import type { World } from '../../platform/world.ts'
import { requireTenantInReach } from '../tenants/find.ts'
import type { SmtpCredentialCreate } from './contract.ts'
import { insertCredential } from './queries.ts'

export function createCredential(
  world: World,
  by: Actor,
  { reach, tenantId, wanted }: { reach: Reach; tenantId: string; wanted: SmtpCredentialCreate },
) {
  return world.db.transact(by, async tx => {
    await requireTenantInReach(tx, reach, tenantId)
    const password = mintSecret()
    const credential = await insertCredential(tx, {
      id: newId(tx.now),
      accountId: reach.accountId,
      tenantId,
      username: wanted.username ?? mintUsername(),
      // 256 random bits need no slow hash.
      passwordHash: sha256(password),
      allowedCidrs: wanted.allowed_cidrs ?? [],
    })
    if (!credential) throw refuse('conflict', 'This username is taken. Choose another one, or leave it out.')
    tx.audit({
      accountId: reach.accountId,
      tenantId,
      target: { type: 'smtp_credential', id: credential.id },
      after: credential,
    })
    return { ...credential, password }
  })
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** 60 random bits: two of them never meet. */
const mintUsername = (): string => `smtp_${Array.from(randomBytes(12), byte => BASE32[byte & 31]).join('')}`
