// Which reader a file is for. Its first bytes count more than its name, and its name more than the type that the sender gave.
import { isRtf } from './rtf.ts'

export type Format = 'pdf' | 'office' | 'html' | 'calendar' | 'rtf' | 'plain'

export interface AttachedFile {
  filename: string | null
  contentType: string
  content: Buffer
}

/** A PDF may have other bytes before it; readers look this far. */
const PDF_HEAD_BYTES = 1024
const OLD_OFFICE = Buffer.from('d0cf11e0a1b11ae1', 'hex')

const NOT_READ = 'Files of this kind are not read.'

export function formatOf({ filename, contentType, content }: AttachedFile): Format | { reason: string } {
  if (content.length === 0) return { reason: 'It is empty.' }
  if (content.subarray(0, PDF_HEAD_BYTES).includes('%PDF-')) return 'pdf'
  if (content.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004', 'latin1'))) return 'office'
  // An encrypted Office file of today stands in a container of the old kind.
  if (content.subarray(0, 8).equals(OLD_OFFICE))
    return { reason: 'It is encrypted, or an Office file from before 2007.' }
  if (isRtf(content)) return 'rtf'
  const byName = BY_EXTENSION.get(/\.([a-z0-9]{1,8})$/i.exec(filename ?? '')?.[1]?.toLowerCase() ?? '')
  return byName ?? byType(contentType.split(';')[0]!.trim().toLowerCase()) ?? { reason: NOT_READ }
}

function byType(type: string): Format | null {
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html'
  if (type === 'text/calendar' || type === 'application/ics') return 'calendar'
  if (type === 'text/rtf') return null
  return /^text\/|^application\/(?:json|xml|csv|x-ndjson|yaml|x-yaml|sql)$|\+(?:json|xml)$/.test(type) ? 'plain' : null
}

const BY_EXTENSION = new Map<string, Format>([
  ...['html', 'htm', 'xhtml'].map((name): [string, Format] => [name, 'html']),
  ...['ics', 'ical', 'ifb', 'vcs'].map((name): [string, Format] => [name, 'calendar']),
  ...'txt text csv tsv log md markdown json xml yaml yml vcf ini conf sql srt diff patch'
    .split(' ')
    .map((name): [string, Format] => [name, 'plain']),
])

/** Of `text/plain; charset="iso-8859-1"`. */
export const charsetOf = (contentType: string): string | null =>
  /;\s*charset\s*=\s*"?([\w.:+-]{1,40})"?/i.exec(contentType)?.[1] ?? null
