// Files that the HTML of a mail shows by their content id (RFC 2392).
import type { Attachment } from './attachment.ts'
import { bareContentId, CONTENT_ID_CHARS_MAX } from './custom-headers.ts'

/**
 * The content ids of files that the HTML refers to. One pass over the HTML, whatever the number of files: looking for each
 * file by itself would read 10 MiB a thousand times.
 */
export function referredIn(html: string, attachments: readonly Pick<Attachment, 'contentId'>[]): ReadonlySet<string> {
  const wanted = new Set(attachments.flatMap(({ contentId }) => (contentId ? bareContentId(contentId) : [])))
  const referred = new Set<string>()
  if (wanted.size === 0) return referred
  let references = 0
  for (const [, reference] of html.matchAll(CID_REFERENCE)) {
    references += 1
    if (references > REFERENCES_MAX) break
    const id = reference!
    if (wanted.has(id)) referred.add(id)
    const end = id.search(END_WITHIN)
    if (end > 0 && wanted.has(id.slice(0, end))) referred.add(id.slice(0, end))
  }
  return referred
}

/**
 * A reference in HTML or CSS ends at a blank, a quote or a bracket; in a srcset or before an entity also at those below. One
 * character more than any content id has is enough to tell. Without a bound, a run of ten million characters overflows the
 * stack of the expression in a process that has compiled so many that V8 compiles new ones without optimizing them.
 */
const CID_REFERENCE = new RegExp(`cid:([^\\s"'<>]{1,${CONTENT_ID_CHARS_MAX + 1}})`, 'gi')
const END_WITHIN = /[&,;()]/
/** More than any page has, read in 20 ms. A file that is referred to behind them is an attachment like any other. */
const REFERENCES_MAX = 100_000
