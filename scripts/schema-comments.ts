// The comments of the migrations, by what they stand above: a table, a column, a constraint, an index, a function.
import type { Migration } from '../src/platform/db/migrate.ts'

/** By name; columns and constraints as `table.name`. */
export type Comments = ReadonlyMap<string, readonly string[]>

const CREATED = /^create (?:or replace )?(?:unique )?(table|index|function|trigger) (\w+)/
const ALTERED = /^alter table (\w+) ?(.*)/
/** In `alter table`; what is dropped or loosened leaves the comment to what follows. */
const ADDED = /^(?:add column|add constraint|alter column) (\w+)\b(?! drop)/
/** In `create table`. */
const MEMBER = /^(?:constraint )?(\w+)/

export function commentsOf(migrations: readonly Migration[]): Comments {
  const comments = new Map<string, string[]>()
  for (const { text } of migrations) new Reader(comments).read(text)
  return comments
}

class Reader {
  readonly #comments: Map<string, string[]>
  #above: string[] = []
  /** The statement that the line is part of. */
  #in: { kind: 'create' | 'alter'; table: string } | { kind: 'function' } | null = null

  constructor(comments: Map<string, string[]>) {
    this.#comments = comments
  }

  read(text: string): void {
    for (const line of text.split('\n').map(each => each.trim())) {
      if (this.#in?.kind === 'function') {
        if (line.endsWith('$$;')) this.#in = null
      } else if (line.startsWith('--')) this.#above.push(line)
      else if (line === '') this.#above = []
      else this.#readCode(line)
    }
  }

  #readCode(line: string): void {
    const [, kind, created] = CREATED.exec(line) ?? []
    const [, altered, rest] = ALTERED.exec(line) ?? []
    if (created) {
      this.#comments.delete(created)
      this.#keep(created)
      if (kind === 'table') this.#in = { kind: 'create', table: created }
      if (kind === 'function') this.#in = { kind: 'function' }
    } else if (altered) {
      this.#in = { kind: 'alter', table: altered }
      this.#keepMember(altered, rest!)
    } else if (this.#in?.kind === 'alter') this.#keepMember(this.#in.table, line)
    else if (this.#in?.kind === 'create') this.#keepMember(this.#in.table, line, MEMBER)
    if (line.endsWith(';')) this.#in = null
  }

  #keepMember(table: string, line: string, named: RegExp = ADDED): void {
    const name = /^(?:add )?primary key/.test(line) ? `${table}_pkey` : named.exec(line)?.[1]
    if (name) this.#keep(`${table}.${name}`)
  }

  #keep(name: string): void {
    if (this.#above.length > 0) this.#comments.set(name, [...(this.#comments.get(name) ?? []), ...this.#above])
    this.#above = []
  }
}
