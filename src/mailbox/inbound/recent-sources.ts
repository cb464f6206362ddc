// Sources of mail that this process has just stored. Most mail is filed a moment later by the process that took it, which
// then need not fetch it again. A source never changes, so what is here is right; what is not is fetched.

export interface Source {
  content: Buffer
  headBytes: number
}

const BYTES_MAX = 16 * 1024 * 1024
/** What a small mail takes besides its bytes. */
const ENTRY_BYTES = 500

export class RecentSources {
  /** The oldest first. */
  readonly #sources = new Map<string, Source>()
  #bytes = 0

  /** A small one, until others have filled the space. */
  keep(id: string, source: Source): void {
    this.#sources.set(id, source)
    this.#bytes += sizeOf(source)
    while (this.#bytes > BYTES_MAX) this.take(this.#sources.keys().next().value!)
  }

  /** Once: the filing that takes it keeps it. */
  take(id: string): Source | null {
    const source = this.#sources.get(id)
    if (!source) return null
    this.#sources.delete(id)
    this.#bytes -= sizeOf(source)
    return source
  }
}

const sizeOf = ({ content }: Source): number => content.length + ENTRY_BYTES
