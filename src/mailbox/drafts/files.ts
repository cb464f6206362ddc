// The attachments of a draft that is written anew: those that stay, named by their ids, and new ones, in the order given.
import type { Attachment } from '../../mail/mime/attachment.ts'
import type { Tx } from '../../platform/db/database.ts'
import { notFound, refuse } from '../../platform/refusal.ts'
import { attachmentsTooLarge } from '../../sending/messages/attachments.ts'
import { ATTACHMENT_BYTES_MAX } from '../../sending/messages/limits.ts'
import type { DraftBody, DraftUpdate } from './contract.ts'
import { insertDraftAttachments, keepDraftAttachments, type StoredDraft } from './queries.ts'

type NewFile = NonNullable<DraftBody['attachments']>[number]

interface WantedFiles {
  /** Null stands for the next of the new ones. */
  order: readonly (string | null)[]
  added: readonly NewFile[]
}

export function wantedFiles({ attachments = [] }: DraftUpdate): WantedFiles {
  const added: NewFile[] = []
  const order = attachments.map(({ id, content, filename, content_id, ...rest }, index) => {
    if (content === undefined) {
      if (id === undefined) throw refuse('invalid_request', `attachments[${index}].content is required.`)
      return id.toLowerCase()
    }
    // Null, as a draft shows it, is the same as left out.
    const named = {
      ...(typeof filename === 'string' ? { filename } : {}),
      ...(typeof content_id === 'string' ? { content_id } : {}),
    }
    added.push({ ...rest, ...named, content })
    return null
  })
  return { order, added }
}

/** `before`: locked. `added`: decoded. */
export async function replaceFiles(
  tx: Tx,
  before: StoredDraft,
  { order, added }: { order: WantedFiles['order']; added: readonly Attachment[] },
): Promise<void> {
  const sizes = new Map(before.attachments.map(({ id, size }) => [id, size]))
  const kept: { id: string; n: number }[] = []
  let bytes = added.reduce((sum, { content }) => sum + content.length, 0)
  for (const [n, id] of order.entries()) {
    if (id === null) continue
    const size = sizes.get(id)
    if (size === undefined) {
      if (kept.some(each => each.id === id)) throw refuse('invalid_message', `attachments[${n}].id is named twice.`)
      throw notFound('attachment')
    }
    sizes.delete(id)
    bytes += size
    kept.push({ id, n })
  }
  if (bytes > ATTACHMENT_BYTES_MAX) throw attachmentsTooLarge()
  await keepDraftAttachments(tx, before.id, kept)
  const ordinals = order.flatMap((id, n) => (id === null ? n : []))
  await insertDraftAttachments(tx, before.id, added, ordinals)
}
