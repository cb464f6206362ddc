// The parts of a zip file that somebody asks for (APPNOTE.TXT, PKWARE). Sizes are added up from the directory before a byte
// is inflated, and inflating ends at the size that the directory gave: a bomb is refused, or is broken.
import { inflateRawSync } from 'node:zlib'
import { Unreadable } from './unreadable.ts'

/** An Office file has some tens of entries, and one per picture. */
const ENTRIES_MAX = 10_000
/** Of all entries that are read. A hundred thousand rows of a spreadsheet are about 30 MB of XML. */
const INFLATED_BYTES_MAX = 64 * 1024 * 1024

const [END_OF_DIRECTORY, DIRECTORY_ENTRY, LOCAL_HEADER] = [0x06054b50, 0x02014b50, 0x04034b50]
const END_BYTES = 22
const ENTRY_BYTES = 46
const LOCAL_BYTES = 30
const COMMENT_BYTES_MAX = 0xffff
/** In a field of the directory: the value stands elsewhere, which only files of more than 4 GB need. */
const ELSEWHERE = 0xffffffff
const [STORED, DEFLATED] = [0, 8]

interface Entry {
  name: string
  method: number
  isEncrypted: boolean
  compressedBytes: number
  bytes: number
  headerAt: number
}

export interface Zip {
  names: readonly string[]
  /** The entries of these names as text, in this order; those that the file does not have are left out. */
  texts(names: readonly string[]): string[]
}

export function openZip(file: Buffer): Zip {
  const entries = new Map<string, Entry>()
  // Of two entries with one name the first counts, so that nothing is read twice.
  for (const entry of directoryOf(file)) if (!entries.has(entry.name)) entries.set(entry.name, entry)
  let left = INFLATED_BYTES_MAX
  return {
    names: [...entries.keys()],
    texts: names => {
      const wanted = [...new Set(names)].flatMap(name => entries.get(name) ?? [])
      for (const { bytes } of wanted) left -= bytes
      if (left < 0) throw new Unreadable('It would unpack to more than 64 MB.')
      return wanted.map(entry =>
        contentOf(file, entry)
          .toString('utf8')
          .replace(/^\ufeff/, ''),
      )
    },
  }
}

function directoryOf(file: Buffer): Entry[] {
  const end = endOfDirectory(file)
  const count = file.readUInt16LE(end + 10)
  if (count > ENTRIES_MAX) throw new Unreadable(`It has more than ${ENTRIES_MAX} parts.`)
  const entries: Entry[] = []
  let at = file.readUInt32LE(end + 16)
  for (let n = 0; n < count; n++) {
    if (file.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Unreadable('Its directory is broken.')
    const nameBytes = file.readUInt16LE(at + 28)
    entries.push({
      name: file.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes),
      isEncrypted: (file.readUInt16LE(at + 8) & 1) === 1,
      method: file.readUInt16LE(at + 10),
      compressedBytes: file.readUInt32LE(at + 20),
      bytes: file.readUInt32LE(at + 24),
      headerAt: file.readUInt32LE(at + 42),
    })
    at += ENTRY_BYTES + nameBytes + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32)
  }
  return entries
}

/** The last one in the file: a comment behind it may hold another's. */
function endOfDirectory(file: Buffer): number {
  const signature = Buffer.alloc(4)
  signature.writeUInt32LE(END_OF_DIRECTORY)
  const at = file.lastIndexOf(signature, file.length - END_BYTES)
  if (at === -1 || at < file.length - END_BYTES - COMMENT_BYTES_MAX) throw new Unreadable('It has no directory.')
  return at
}

function contentOf(file: Buffer, entry: Entry): Buffer {
  const { headerAt, compressedBytes, bytes, method } = entry
  if (entry.isEncrypted) throw new Unreadable('It is encrypted.')
  if (bytes === ELSEWHERE || compressedBytes === ELSEWHERE) throw new Unreadable('It is larger than 4 GB.')
  if (file.readUInt32LE(headerAt) !== LOCAL_HEADER) throw new Unreadable('One of its parts is not where it should be.')
  const start = headerAt + LOCAL_BYTES + file.readUInt16LE(headerAt + 26) + file.readUInt16LE(headerAt + 28)
  const data = file.subarray(start, start + compressedBytes)
  if (data.length < compressedBytes) throw new Unreadable('It was cut off.')
  if (method === STORED) return data
  if (method !== DEFLATED) throw new Unreadable('It is packed in a way that is not read here.')
  return bytes === 0 ? Buffer.alloc(0) : inflateRawSync(data, { maxOutputLength: bytes })
}
