// The SQL that stores sources of mail.
import type { Tx } from '../../platform/db/database.ts'
import { bareArray, binaryTexts, commaSeparated, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { storableText } from '../storable.ts'
import type { SourceText } from './store.ts'

/** One bound value per source: an array of them would travel as text, twice as long. */
export const insertSources = (tx: Tx, sources: readonly { id: string; content: Buffer; headBytes: number }[]): void => {
  const rows = sources.map(
    ({ id, content, headBytes }) =>
      sql`(${id}::uuid, ${content}::bytea, ${headBytes}::integer, ${content.length}::integer)`,
  )
  const insert = sql`insert into mail_sources (id, content, head_bytes, size) values`
  tx.send(rows.length === 1 ? prepared`${insert} ${rows[0]}` : sql`${insert} ${commaSeparated(rows)}`)
}

/** Answers those that were not stored before. */
export async function insertSourceTexts(tx: Tx, texts: readonly SourceText[]): Promise<{ source_id: string }[]> {
  const inserted = insertions(texts).map(each =>
    tx.many<{ source_id: string }>(prepared`${each} on conflict do nothing returning source_id`),
  )
  return (await Promise.all(inserted)).flat()
}

/** Travels with the commit. */
export function sendSourceTexts(tx: Tx, texts: readonly SourceText[]): void {
  for (const each of insertions(texts)) tx.send(prepared`${each}`)
}

/** Longer ones would be copied into one value with the others. */
const LONG_CHARS_MIN = 64 * 1024

/** Short ones together, each long one in values of its own. */
function insertions(texts: readonly SourceText[]): Sql[] {
  const rows = texts.map(rowOf)
  const long = rows.filter(isLong)
  const short = rows.filter(row => !isLong(row))
  return [...(short.length > 0 ? [insertionOfMany(short)] : []), ...long.map(insertionOfOne)]
}

const rowOf = (text: SourceText) => ({
  source_id: text.sourceId,
  authentication_results: storableText(text.authenticationResults),
  text: storableText(text.text),
  html: storableOrNull(text.html),
  html_text: storableOrNull(text.htmlText),
  extracted_text: text.extractedText === text.text ? null : storableText(text.extractedText),
  notes: text.notes.map(storableText),
})

const storableOrNull = (text: string | null): string | null => text && storableText(text)

type Row = ReturnType<typeof rowOf>

const isLong = ({ text, html, html_text: shown, extracted_text: extracted }: Row): boolean =>
  text.length + (html?.length ?? 0) + (shown?.length ?? 0) + (extracted?.length ?? 0) >= LONG_CHARS_MIN

const insertionOfMany = (rows: readonly Row[]): Sql => sql`
  insert into source_texts (source_id, authentication_results, text, html, html_text, extracted_text, notes)
  select source_id, authentication_results, text, html, html_text, extracted_text,
    case when notes is null then '{}' else array(select json_array_elements_text(notes::json)) end
  from unnest(${bareArray(rows.map(row => row.source_id))}::uuid[],
    ${binaryTexts(rows.map(row => row.authentication_results))}::text[], ${binaryTexts(rows.map(row => row.text))}::text[],
    ${binaryTexts(rows.map(row => row.html))}::text[], ${binaryTexts(rows.map(row => row.html_text))}::text[],
    ${binaryTexts(rows.map(row => row.extracted_text))}::text[],
    ${binaryTexts(rows.map(({ notes }) => (notes.length === 0 ? null : JSON.stringify(notes))))}::text[])
    as t (source_id, authentication_results, text, html, html_text, extracted_text, notes)`

const insertionOfOne = (row: Row): Sql => sql`
  insert into source_texts (source_id, authentication_results, text, html, html_text, extracted_text, notes)
  values (${row.source_id}, ${row.authentication_results}, ${row.text}, ${row.html}, ${row.html_text}, ${row.extracted_text},
    ${row.notes}::text[])`
