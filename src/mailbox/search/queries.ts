// All SQL of search; the only writer of message_words.
import type { Reads, Tx } from '../../platform/db/database.ts'
import { all, bareArray, binaryArray, prepared, sql, type Sql } from '../../platform/db/sql.ts'
import { isIn, isIndexed, newest, newestAsked, rowOf } from './newest-queries.ts'
import { isAsked, type Scope, type SearchedFolder } from './scope.ts'
import type { TsQuery } from './tsquery.ts'
import { bufferOf, TSVECTOR } from './vector.ts'

export interface MessageWords {
  messageId: string
  inboxId: string
  /** As `wordsOf` gives them. */
  words: Uint8Array
}

/** Takes the place of the words that a message has. Travels with the commit. */
export const upsertWords = (tx: Tx, rows: readonly MessageWords[]): void =>
  tx.send(prepared`
    insert into message_words (message_id, inbox_id, words)
    select message_id, inbox_id, words
    from unnest(${bareArray(rows.map(({ messageId }) => messageId))}::uuid[],
      ${bareArray(rows.map(({ inboxId }) => inboxId))}::uuid[],
      ${binaryArray(
        TSVECTOR,
        rows.map(({ words }) => words),
      )}::tsvector[]) as w (message_id, inbox_id, words)
    on conflict (message_id) do update set words = excluded.words`)

/** With the messages: no constraint does it. Travels with the commit. */
export const deleteWords = (tx: Tx, messageIds: readonly string[]): void =>
  tx.send(prepared`delete from message_words where message_id = any(${bareArray(messageIds)}::uuid[])`)

/** Locked, so that they are there when their words are written. */
export const listMessagesOfSource = (
  tx: Tx,
  sourceId: string,
  { after, limit }: { after: string | null; limit: number | null },
): Promise<{ id: string; inbox_id: string }[]> =>
  tx.many(prepared`
    select id, inbox_id from inbox_messages
    where source_id = ${sourceId} and (${after}::uuid is null or id > ${after}::uuid)
    order by id limit ${limit} for key share`)

/** The same for all of them. Travels with the commit. */
export const upsertSameWords = (tx: Tx, messages: readonly { id: string; inbox_id: string }[], words: Uint8Array) =>
  tx.send(prepared`
    insert into message_words (message_id, inbox_id, words)
    select message_id, inbox_id, ${bufferOf(words)}::tsvector
    from unnest(${bareArray(messages.map(({ id }) => id))}::uuid[],
      ${bareArray(messages.map(({ inbox_id }) => inbox_id))}::uuid[]) as m (message_id, inbox_id)
    on conflict (message_id) do update set words = excluded.words`)

/** With those that were emptied and still hold what is to be removed. */
export const listSearchedFolders = (db: Reads, inboxId: string): Promise<SearchedFolder[]> =>
  db.many<SearchedFolder>(prepared`
    select id, name, total, discarded_at is not null as is_discarded from folders where inbox_id = ${inboxId}`)

interface Asked {
  words: TsQuery
  scope: Scope
  limit: number
}

interface Matches {
  ids: string[]
  /** That matched too, in the folders that the default leaves out. */
  hidden: number
  /** Of those: by the shield. */
  blocked: number
}

/** So many of the newest matches are ranked. */
const RANKED_MAX = 2_000
/** Messages that are read to tell whether the words are common; an inbox with fewer is read as a whole. */
const SAMPLE = 400
/** Found so often among them, words are common: a search for them gets the best of the newest 8,000 messages. */
const SAMPLE_COMMON = 20
const READ_MAX = 8_000
/** Messages that have all words of a phrase, the newest first, among which the phrase is looked for. */
const PHRASES_MAX = 20_000
/** Of the folders that are left out, the newest so many are looked at to say how many would have matched. */
const HIDDEN_MAX = 2_000

interface Bounds {
  /** Rows that one statement looks at for operators that no index answers. */
  scanMax: number
  /** Matches that are taken from the index, which has them in no order. */
  matchesMax: number
}
const BOUNDS: Bounds = { scanMax: 20_000, matchesMax: 100_000 }

/**
 * A common word is in so many messages that the index would lead to most pages of the table: there the newest messages are
 * read in their order. A rare word is found by the index.
 */
export async function findMatches(db: Reads, asked: Asked, bounds: Bounds = BOUNDS): Promise<Matches> {
  const { required } = asked.words
  if (required === null) return listNewest(db, asked, bounds)
  const hidden = await countHidden(db, asked, { required, bounds })
  const sample = await readSample(db, asked, { required, bounds })
  if (sample.read < SAMPLE) return { ids: sample.ids, ...hidden }
  const isCommon = sample.found >= SAMPLE_COMMON
  const ids = await (isCommon ? readInOrder : findByIndex)(db, asked, { required, bounds })
  return { ids, ...hidden }
}

interface Reading {
  required: string
  bounds: Bounds
}

/** By where the words stand (subject before addresses before text), in steps: within a step the newest come first. */
const rankOf = ({ ranking }: TsQuery): Sql => sql`round(ts_rank(w.words, ${ranking ?? ''}::tsquery)::numeric, 1)`

const ranked = (words: TsQuery, condition: Sql): Sql => sql`
  select w.message_id, w.rank, shown.is_asked from (select id, is_asked from shown order by id desc) shown
  cross join lateral (
    select w.message_id, ${rankOf(words)} as rank from message_words w
    where w.message_id = shown.id and ${condition} offset 0
  ) w
  order by shown.id desc limit ${RANKED_MAX}`

const best = (limit: number): Sql => sql`
  array(select message_id from ranked where is_asked order by rank desc, message_id desc limit ${limit}) as ids`

/**
 * Words are counted before the operators that no index answers are applied: how many messages the index of words would
 * lead to does not depend on those.
 */
async function readSample(db: Reads, { words, scope, limit }: Asked, { required, bounds: { scanMax } }: Reading) {
  const sampled = newest({ folderIds: scope.folderIds, scope, scanMax, limit: SAMPLE })
  const shown = isIndexed(scope)
    ? sql`select sampled.id, true as is_asked from (${sampled}) sampled`
    : sql`select sampled.id, ${isAsked(scope)} as is_asked
        from (${sampled}) sampled cross join lateral (${rowOf(sql`sampled.id`)}) m`
  const [row] = await db.many<{ ids: string[]; read: number; found: number }>(sql`
    with shown as materialized (${shown}),
    ranked as materialized (${ranked(words, sql`w.words @@ ${required}::tsquery`)})
    select ${best(limit)}, (select count(*)::int from shown) as read, (select count(*)::int from ranked) as found`)
  return row!
}

async function readInOrder(db: Reads, { words, scope, limit }: Asked, { required, bounds: { scanMax } }: Reading) {
  const read = newestAsked({ folderIds: scope.folderIds, scope, scanMax, limit: READ_MAX })
  const [row] = await db.many<{ ids: string[] }>(sql`
    with shown as materialized (select read.id, true as is_asked from (${read}) read),
    ranked as materialized (${ranked(words, sql`w.words @@ ${required}::tsquery`)})
    select ${best(limit)}`)
  return row!.ids
}

/**
 * Words that are rare in the newest messages may be in most of the old ones. Where the index has more than `matchesMax`,
 * the newest match need not be among those that were taken from it: the newest messages are read, and theirs come first.
 */
async function findByIndex(db: Reads, asked: Asked, reading: Reading): Promise<string[]> {
  const loose = asked.words.loose
  // The index would lead to all messages of the inbox.
  if (loose === null) return readInOrder(db, asked, reading)
  const { ids, matches } = await readIndex(db, asked, { ...reading, loose })
  if (matches < reading.bounds.matchesMax) return ids
  return [...new Set([...(await readInOrder(db, asked, reading)), ...ids])].slice(0, asked.limit)
}

/**
 * The limit stands outside the materialized query: that is planned as if all its rows were read, and so by the index, but
 * is run no further than the limit. With the limit inside, the planner may read the words of all inboxes to reach it.
 */
async function readIndex(
  db: Reads,
  { words, scope, limit }: Asked,
  { required, loose, bounds: { matchesMax } }: Reading & { loose: string },
): Promise<{ ids: string[]; matches: number }> {
  const isExact = loose === required
  const [row] = await db.many<{ ids: string[]; matches: number }>(sql`
    with matched as materialized (
      select message_id as id from message_words where inbox_id = ${scope.inboxId} and words @@ ${loose}::tsquery
    ), taken as materialized (
      select id from matched limit ${matchesMax}
    ), shown as materialized (
      select newest.id, true as is_asked from (
        select m.id from taken m where ${all(scope.bounds)} order by m.id desc
      ) newest
      cross join lateral (${rowOf(sql`newest.id`)}) m
      where ${isIn(scope.folderIds)} and ${isAsked(scope)}
      order by newest.id desc limit ${isExact ? RANKED_MAX : PHRASES_MAX}
    ), ranked as materialized (${ranked(words, isExact ? sql`true` : sql`w.words @@ ${required}::tsquery`)})
    select ${best(limit)}, (select count(*)::int from taken) as matches`)
  return row!
}

/** Message by message: for a join with the words the planner may read those of every inbox. */
async function countHidden(db: Reads, { scope }: Asked, { required, bounds }: Reading) {
  if (scope.hiddenIds.length === 0) return NONE_HIDDEN
  const [row] = await db.many<Pick<Matches, 'hidden' | 'blocked'>>(sql`
    select count(*)::int as hidden, (count(*) filter (where hidden.is_blocked))::int as blocked
    from (${hiddenOf(scope, bounds)}) hidden cross join lateral (
      select 1 from message_words w where w.message_id = hidden.id and w.words @@ ${required}::tsquery offset 0
    ) w`)
  return row!
}

const NONE_HIDDEN = { hidden: 0, blocked: 0 }

const hiddenOf = (scope: Scope, { scanMax }: Bounds): Sql => sql`
  select hidden.id, m.is_blocked
  from (${newest({ folderIds: scope.hiddenIds, scope, scanMax, limit: HIDDEN_MAX })}) hidden
  cross join lateral (${rowOf(sql`hidden.id`)}) m
  where ${isAsked(scope)}`

/** Without a word that must occur nothing can be ranked: the newest that have none of the words that must not occur. */
async function listNewest(db: Reads, { words, scope, limit }: Asked, bounds: Bounds): Promise<Matches> {
  const { scanMax } = bounds
  const readMax = words.excluded === null ? limit : READ_MAX
  const [row] = await db.many<Matches>(sql`
    select array(
        select shown.id from (${newestAsked({ folderIds: scope.folderIds, scope, scanMax, limit: readMax })}) shown
        where ${isLeft(words)} order by shown.id desc limit ${limit}) as ids,
      h.hidden, h.blocked
    from (
      select count(*)::int as hidden, (count(*) filter (where shown.is_blocked))::int as blocked
      from (${hiddenOf(scope, bounds)}) shown where ${isLeft(words)}
    ) h`)
  return row!
}

/** Row by row, and no join: the words of most messages are not asked for. */
const isLeft = ({ excluded }: TsQuery): Sql =>
  excluded === null
    ? sql`true`
    : sql`not coalesce((select w.words @@ ${excluded}::tsquery from message_words w where w.message_id = shown.id), false)`

/** Why a message was found is looked for in so much of its text; further down, its beginning is shown instead. */
const SHOWN_CHARS_MAX = 16_000
/** Of one message. */
const SHOWN_ATTACHMENTS_MAX = 5

interface ShownText {
  source_id: string
  text: string
}

export const listTexts = (db: Reads, sourceIds: readonly string[]): Promise<ShownText[]> =>
  db.many<ShownText>(prepared`
    select source_id, left(text, ${SHOWN_CHARS_MAX}) as text from source_texts
    where source_id = any(${bareArray(sourceIds)}::uuid[])`)

/** Of those for which a message was blocked since it was found: none. What is found in a text may block its mail. */
export const listAttachmentTexts = (
  db: Reads,
  found: readonly { id: string; source_id: string; is_blocked: boolean }[],
): Promise<ShownText[]> =>
  db.many<ShownText>(prepared`
    select a.source_id, a.text
    from unnest(${bareArray(found.map(row => row.id))}::uuid[], ${bareArray(found.map(row => row.source_id))}::uuid[],
      ${bareArray(found.map(row => String(row.is_blocked)))}::boolean[]) as found (id, source_id, was_blocked)
    cross join lateral (
      select from inbox_messages m where m.id = found.id and m.is_blocked = found.was_blocked offset 0
    ) standing
    cross join lateral (
      select source_id, left(text, ${SHOWN_CHARS_MAX}) as text from source_attachments
      where source_id = found.source_id and text is not null and text_state = 'done'
      order by n limit ${SHOWN_ATTACHMENTS_MAX}
    ) a`)
