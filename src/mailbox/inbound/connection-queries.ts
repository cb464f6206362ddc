// All SQL over the connections that processes tell each other of.
import type { Db, Tx } from '../../platform/db/database.ts'
import { prepared } from '../../platform/db/sql.ts'

export const upsertConnections = (
  tx: Tx,
  processId: string,
  told: readonly { network: string; count: number }[],
): Promise<number> =>
  tx.run(prepared`
    insert into arrival_connections (process_id, network, count, told_at)
    select ${processId}, network, count, ${tx.now} from unnest(${told.map(each => each.network)}::text[],
      ${told.map(each => each.count)}::integer[]) as told (network, count)
    on conflict (network, process_id) do update set count = excluded.count, told_at = excluded.told_at`)

export const listConnectionsElsewhere = (
  db: Db,
  { processId, networks, since }: { processId: string; networks: readonly string[]; since: Date },
): Promise<{ network: string; count: number }[]> =>
  db.many(prepared`
    select network, sum(count)::int as count from arrival_connections
    where network = any(${networks}::text[]) and process_id <> ${processId} and told_at > ${since}
    group by network`)

export const deleteOldConnections = (tx: Tx, before: Date): Promise<number> =>
  tx.run(prepared`delete from arrival_connections where told_at < ${before}`)
