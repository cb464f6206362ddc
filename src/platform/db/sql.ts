// SQL as a value: sql`select … where id = ${id}` binds every value; fragments nest; `undefined` throws, because a
// forgotten field must never become null.

export class Sql {
  readonly strings: readonly string[]
  readonly values: readonly unknown[]
  /** Prepared once per connection and run by name from then on. */
  readonly isPrepared: boolean

  constructor(strings: readonly string[], values: readonly unknown[], isPrepared: boolean) {
    this.strings = strings
    this.values = values
    this.isPrepared = isPrepared
  }

  toQuery(): { text: string; values: unknown[]; name?: string } {
    const text = textOf(this.strings)
    const values = this.values as unknown[]
    return this.isPrepared ? { text, values, name: nameOf(text) } : { text, values }
  }
}

export const sql = (strings: TemplateStringsArray, ...values: unknown[]): Sql => build(strings, values, false)

/** For statements that run all the time: saves parsing and planning at every call. */
export const prepared = (strings: TemplateStringsArray, ...values: unknown[]): Sql => build(strings, values, true)

/** Conditions that all hold; nothing given means no restriction. */
export function all(conditions: readonly (Sql | null | false)[]): Sql {
  const given = conditions.filter(condition => condition instanceof Sql)
  return given.length === 0 ? sql`true` : given.reduce((left, right) => sql`${left} and ${right}`)
}

/** Conditions of which one holds. */
export const any = (conditions: readonly Sql[]): Sql =>
  sql`(${conditions.length === 0 ? sql`false` : conditions.reduce((left, right) => sql`${left} or ${right}`)})`

/** An array of ids or numbers, which need no quoting: the driver would look at every character of each. */
export const bareArray = (values: readonly (string | number | null)[]): string =>
  `{${values.map(value => value ?? 'null').join(',')}}`

/** For rows of values, one after the other. */
export const commaSeparated = (parts: readonly Sql[]): Sql => {
  const strings: string[] = ['']
  const values: unknown[] = []
  parts.forEach((part, index) => {
    strings[strings.length - 1] += (index > 0 ? ', ' : '') + part.strings[0]!
    for (const text of part.strings.slice(1)) strings.push(text)
    for (const bound of part.values) values.push(bound)
  })
  return new Sql(strings, values, false)
}

function build(strings: TemplateStringsArray, values: unknown[], isPrepared: boolean): Sql {
  if (!values.some(value => value instanceof Sql || value === undefined)) return new Sql(strings, values, isPrepared)
  const flatStrings: string[] = [strings[0]!]
  const flatValues: unknown[] = []
  values.forEach((value, index) => {
    const following = strings[index + 1]!
    if (value === undefined) throw new TypeError(`undefined in SQL after "${strings[index]!.slice(-60).trim()}"`)
    if (value instanceof Sql) {
      flatStrings[flatStrings.length - 1] += value.strings[0]!
      for (const text of value.strings.slice(1)) flatStrings.push(text)
      for (const bound of value.values) flatValues.push(bound)
      flatStrings[flatStrings.length - 1] += following
    } else {
      flatValues.push(value)
      flatStrings.push(following)
    }
  })
  return new Sql(flatStrings, flatValues, isPrepared)
}

/** A template literal's strings are one frozen array per place in the code, so most texts are put together once. */
const texts = new WeakMap<readonly string[], string>()

function textOf(strings: readonly string[]): string {
  let text = texts.get(strings)
  if (text === undefined) {
    text = strings.reduce((before, following, index) => `${before}$${index}${following}`)
    texts.set(strings, text)
  }
  return text
}

const names = new Map<string, string>()

/** Dynamic fragments give few distinct texts; a name per text is kept for ever. */
function nameOf(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = `s${names.size + 1}`
    names.set(text, name)
  }
  return name
}
