// DKIM keys for delivery, ready to sign with. Opening and parsing one costs more than the rest of a look-up, so the
// parsed keys are kept; concurrent look-ups share one statement.
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { lookUpBatcher, type Batcher } from '../../platform/batcher.ts'
import { remember } from '../../platform/remember.ts'
import type { World } from '../../platform/world.ts'
import { listSealedKeysAnywhere, type SealedKey } from './queries.ts'
import { keyRow } from './stored-domain.ts'

interface SigningKey {
  domain: string
  selector: string
  key: KeyObject
  /**
   * The return path may be under the sender's own domain. Never so for names of the installation: RETURN_PATH_HOST is
   * their own already.
   */
  returnPathOk: boolean
}

/** A parsed key takes about 10 kB. */
const ENTRIES_MAX = 1_000
/** How long a deleted domain may go on signing what is queued, and a new return path wait to be used. */
const REFRESH_MS = 60_000

interface Loaded {
  sealed: string
  signing: SigningKey
}

interface Entry {
  readAtMs: number
  loaded: Promise<Loaded | null>
}

export class SigningKeys {
  readonly #world: World
  readonly #rows: Batcher<string, SealedKey | null>
  /** The longest unused first. */
  readonly #entries = new Map<string, Entry>()

  constructor(world: World) {
    this.#world = world
    this.#rows = lookUpBatcher(
      ids => listSealedKeysAnywhere(world.db, ids),
      row => row.id,
    )
  }

  /** Null when there is no such domain, or no longer. */
  async keyOf(domainId: string): Promise<SigningKey | null> {
    const nowMs = this.#world.clock.now().getTime()
    const known = this.#entries.get(domainId)
    const isFresh = known !== undefined && Math.abs(nowMs - known.readAtMs) < REFRESH_MS
    const entry = isFresh ? known : { readAtMs: nowMs, loaded: this.#load(domainId, known) }
    remember(this.#entries, domainId, entry, ENTRIES_MAX)
    try {
      return (await entry.loaded)?.signing ?? null
    } catch (error) {
      // A failure is not remembered: the next caller asks again.
      if (this.#entries.get(domainId) === entry) this.#entries.delete(domainId)
      throw error
    }
  }

  async #load(domainId: string, known: Entry | undefined): Promise<Loaded | null> {
    const [row, before] = await Promise.all([this.#rows.submit(domainId), known?.loaded.catch(() => null)])
    if (!row) return null
    const { name, selector, sealed_key: sealed, return_path_ok: returnPathOk } = row
    const key = before?.sealed === sealed ? before.signing.key : this.#parse(domainId, sealed)
    return { sealed, signing: { domain: name, selector, key, returnPathOk } }
  }

  #parse(domainId: string, sealed: string): KeyObject {
    return createPrivateKey(this.#world.secrets.open(keyRow(domainId), sealed))
  }
}
