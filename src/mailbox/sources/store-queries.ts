// The SQL that stores sources of mail.
import type { Tx } from '../../platform/db/database.ts'
import { commaSeparated, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { storableJson } from '../storable.ts'
import type { SourceText } from './store.ts'

interface SourceRow {
  id: string
  content: Buffer
  headBytes: number
}

/** One bound value per source: an array of them would travel as text, twice as long. */
export const insertSources = (tx: Tx, sources: readonly SourceRow[]): void => {
  const rows = sources.map(
    ({ id, content, headBytes }) =>
      sql`(${id}::uuid, ${content}::bytea, ${headBytes}::integer, ${content.length}::integer, ${tx.now}::timestamptz)`,
  )
  tx.send(sql`insert into mail_sources (id, content, head_bytes, size, created_at) values ${commaSeparated(rows)}`)
}

/** Answers those that were not stored before. */
export const insertSourceTexts = (tx: Tx, texts: readonly SourceText[]): Promise<{ source_id: string }[]> =>
  tx.many<{ source_id: string }>(prepared`${insertion(texts)} on conflict do nothing returning source_id`)

/** Travels with the commit. */
export const sendSourceTexts = (tx: Tx, texts: readonly SourceText[]): void => tx.send(prepared`${insertion(texts)}`)

function insertion(texts: readonly SourceText[]): Sql {
  const rows = texts.map(text => ({
    source_id: text.sourceId,
    authentication_results: text.authenticationResults,
    text: text.text,
    html: text.html,
    html_text: text.htmlText,
    extracted_text: text.extractedText === text.text ? null : text.extractedText,
    notes: text.notes,
  }))
  return sql`
    insert into source_texts (source_id, authentication_results, text, html, html_text, extracted_text, notes)
    select source_id, authentication_results, text, html, html_text, extracted_text, notes
    from json_to_recordset(${storableJson(rows)}::json) as t (source_id uuid, authentication_results text, text text,
      html text, html_text text, extracted_text text, notes text[])`
}
