// Partitions that retention has emptied are dropped: a table without rows still costs every statement over its parent.
import { system } from './actor.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

/**
 * `below` is the name of the first partition that stays whatever it holds; names are ordered by age when they are compared
 * by length first. The default partition is never old. Answers the names of those dropped.
 */
export async function dropEmptyPartitions(db: Database, parent: string, below: string): Promise<string[]> {
  const old = await db.many<{ name: string }>(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${parent}::regclass and c.relname ~ '_[0-9]+$'
      and (length(c.relname), c.relname) < (length(${below}), ${below}::name)
    order by length(c.relname), c.relname`)
  const dropped: string[] = []
  for (const { name } of old) {
    const isDone = await db.transact(system('partitions'), tx =>
      tx.value<boolean>(sql`select drop_partition_if_empty(${parent}, ${name})`),
    )
    if (isDone) dropped.push(name)
  }
  return dropped
}
