// A search: what was typed becomes a query, the index finds messages, and each shows the piece of text that it was found by.
import type { Database, Lists, Reads } from '../../platform/db/database.ts'
import { LIMIT_DEFAULT } from '../../platform/http/schemas.ts'
import type { Reach } from '../../platform/principal.ts'
import type { World } from '../../platform/world.ts'
import { requireInboxInReach } from '../inboxes/find.ts'
import { listMessageRows, withAttachments, type MessageRow } from '../messages/find.ts'
import type { FoundMessage } from './contract.ts'
import { highlight, marked, soughtIn, type Sought } from './highlight.ts'
import { parseQuery } from './parse-query.ts'
import { findMatches, listSearchedFolders, listAttachmentTexts, listTexts } from './queries.ts'
import { scopeOf } from './scope.ts'
import { tsQueryOf } from './tsquery.ts'

export class Search {
  readonly #db: Database
  readonly #lists: Lists
  readonly #slices: World['slices']

  /** A replica may not know yet what was blocked or deleted: who must not see that reads the primary. */
  constructor({ db, slices }: Pick<World, 'db' | 'slices'>, lists: Lists = db.lists) {
    this.#db = db
    this.#lists = lists
    this.#slices = slices
  }

  async find(
    reach: Reach,
    { inboxId, q, folder, limit = LIMIT_DEFAULT }: { inboxId: string; q: string; folder?: string; limit?: number },
  ): Promise<{ messages: FoundMessage[]; hidden: { spam: number; trash: number; blocked: number } }> {
    const query = parseQuery(q)
    await requireInboxInReach(this.#db, reach, inboxId)
    const { groups } = query
    const words = tsQueryOf(groups)
    // As for lists: what is moved meanwhile must be found in one of the folders.
    const { rows, hidden, blocked } = await this.#lists.atOneMoment(async moment => {
      const folders = await listSearchedFolders(moment, inboxId)
      const scope = scopeOf(groups, { inboxId, folder: folder ?? null, folders })
      const { ids, ...leftOut } = await findMatches(moment, { words, scope, limit })
      return { rows: ids.length > 0 ? await inOrder(moment, ids) : [], ...leftOut }
    })
    const messages = await this.#show(rows, { sought: soughtIn(query), owner: reach.accountId })
    return { messages, hidden: { spam: 0, trash: hidden, blocked } }
  }

  async #show(found: readonly MessageRow[], { sought, owner }: { sought: Sought; owner: string }) {
    if (found.length === 0) return []
    const snippets = await this.#snippets(found, { sought, owner })
    const shown = await withAttachments(this.#lists, found)
    return shown.map(row => ({ ...row, snippet: snippets.get(row.id) ?? marked(row.snippet, sought) }))
  }

  /** From the text, else from an attachment. Where the words stand in the subject alone, there is none. */
  async #snippets(rows: readonly MessageRow[], { sought, owner }: { sought: Sought; owner: string }) {
    const snippets = new Map<string, string>()
    if (sought.words.size + sought.runs.length === 0) return snippets
    const bySource = Map.groupBy(rows, row => row.source_id ?? '')
    function* snippetsIn(texts: readonly { source_id: string; text: string }[]): Generator<void, void> {
      for (const { source_id, text } of texts) {
        const waiting = (bySource.get(source_id) ?? []).filter(({ id }) => !snippets.has(id))
        const snippet = waiting.length > 0 ? highlight(text, sought) : null
        if (snippet !== null) for (const { id } of waiting) snippets.set(id, snippet)
        yield
      }
    }
    const look = (texts: Parameters<typeof snippetsIn>[0]): Promise<void> =>
      this.#slices.run(snippetsIn(texts), [owner])
    await look(await listTexts(this.#lists, [...bySource.keys()].filter(Boolean)))
    const left = rows.flatMap(({ id, source_id, is_blocked }) =>
      source_id === null || snippets.has(id) ? [] : [{ id, source_id, is_blocked }],
    )
    if (left.length > 0) await look(await listAttachmentTexts(this.#lists, left))
    return snippets
  }
}

async function inOrder(db: Reads, ids: readonly string[]): Promise<MessageRow[]> {
  const byId = new Map((await listMessageRows(db, ids)).map(row => [row.id, row]))
  return ids.flatMap(id => byId.get(id) ?? [])
}
