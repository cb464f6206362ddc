/**
 * The role that the service connects as: it owns its database and everything in it, and is no superuser, so a mistake
 * in the service cannot read files, run programs or switch off the triggers that keep the audit log append-only.
 */

export const ROLE = 'sluice_app'

/**
 * All or nothing: statements sent together are one transaction, so the role exists only where the ownership is right
 * too. In a cluster of an older version the superuser owned everything, and `reassign owned` does not work on the one
 * that initdb made, because it owns the system as well.
 */
export const roleSetUp = ({ database, password }: { database: string; password: string }): string => `
  -- The password stands in a statement that must not end in the server's log.
  set local log_min_error_statement = panic;
  create role ${ROLE} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${password}';
  alter database ${database} owner to ${ROLE};
  do $$
  declare
    statement text;
  begin
    for statement in
      with own as (
        select oid, nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'
      )
      select format('alter schema %I owner to ${ROLE}', nspname) from own where nspname <> 'public'
      union all
      -- Indexes, and sequences of a column, follow their table.
      select format('alter %s %s owner to ${ROLE}',
        case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'table' end,
        pg_class.oid::regclass)
      from pg_class join own on own.oid = relnamespace
      where relkind in ('r', 'p', 'v', 'm') or (relkind = 'S' and not exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype in ('a', 'i')))
      union all
      select format('alter routine %s owner to ${ROLE}', pg_proc.oid::regprocedure)
      from pg_proc join own on own.oid = pronamespace
      union all
      -- Not the row types of tables, nor the arrays that come with a type.
      select format('alter type %s owner to ${ROLE}', pg_type.oid::regtype)
      from pg_type join own on own.oid = typnamespace
      where typtype in ('e', 'd', 'r') or typrelid in (select oid from pg_class where relkind = 'c')
    loop
      execute statement;
    end loop;
  end $$;`
