// SQL as a value: sql`select … where id = ${id}` binds every value; fragments nest; `undefined` throws, because a
// forgotten field must never become null.

export class Sql {
  readonly strings: readonly string[]
  readonly values: readonly unknown[]
  /** Prepared once per connection and run by name from then on. */
  readonly isPrepared: boolean
  /** Its strings are the same array each time, because how much there is of it does not depend on what is asked. */
  readonly isFixed: boolean

  constructor(strings: readonly string[], values: readonly unknown[], { isPrepared = false, isFixed = false } = {}) {
    this.strings = strings
    this.values = values
    this.isPrepared = isPrepared
    this.isFixed = isFixed
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

/**
 * An array in PostgreSQL's binary form, of values in theirs. `type` is the number of their type. As text each value would be
 * quoted here, and parsed there.
 */
export const binaryArray = (type: number, values: readonly Uint8Array[]): Buffer =>
  writeArray(type, values, {
    bytesOf: value => value.length,
    write: (array, value, at) => array.set(value, at),
  })

const TEXT = 25

/** The same of texts. */
export const binaryTexts = (values: readonly (string | null)[]): Buffer =>
  writeArray(TEXT, values, {
    bytesOf: value => Buffer.byteLength(value),
    write: (array, value, at) => array.write(value, at),
  })

const ARRAY_HEAD_BYTES = 20
const NULL_LENGTH = 0xff_ff_ff_ff

interface ElementWriter<Value> {
  bytesOf: (value: Value) => number
  write: (array: Buffer, value: Value, at: number) => void
}

function writeArray<Value>(type: number, values: readonly (Value | null)[], writer: ElementWriter<Value>): Buffer {
  const sizes = values.map(value => (value === null ? null : writer.bytesOf(value)))
  const array = Buffer.allocUnsafe(sizes.reduce<number>((sum, size) => sum + 4 + (size ?? 0), ARRAY_HEAD_BYTES))
  // Dimensions, whether there are nulls, the type; then how many, and the number of the first.
  let at = 0
  for (const head of [1, Number(sizes.includes(null)), type, values.length, 1]) at = array.writeUInt32BE(head, at)
  for (const [n, value] of values.entries()) {
    at = array.writeUInt32BE(sizes[n] ?? NULL_LENGTH, at)
    if (value !== null) writer.write(array, value, at)
    at += sizes[n] ?? 0
  }
  return array
}

/**
 * A part of bytes, in base64: that is shorter than the text that the driver makes of bytes, and is read in a seventh of the
 * time.
 */
export const base64Part = (column: Sql, { start, bytes }: { start: number; bytes: number }): Sql =>
  sql`encode(substring(${column} from ${start + 1}::integer for ${bytes}::integer), 'base64')`

/**
 * One of these. A statement with a list is planned anew each time it runs, because PostgreSQL expects ten of what it is not
 * told, and that takes longer than looking up one: where there is one it is not written as a list.
 */
export const isAmong = (column: Sql, values: readonly string[]): Sql =>
  values.length === 1 ? sql`${column} = ${values[0]!}` : sql`${column} = any(${values})`

/** For rows of values, one after the other. */
export const commaSeparated = (parts: readonly Sql[]): Sql => {
  const strings: string[] = ['']
  const values: unknown[] = []
  parts.forEach((part, index) => {
    strings[strings.length - 1] += (index > 0 ? ', ' : '') + part.strings[0]!
    for (const text of part.strings.slice(1)) strings.push(text)
    for (const bound of part.values) values.push(bound)
  })
  return new Sql(strings, values)
}

function build(strings: TemplateStringsArray, values: unknown[], isPrepared: boolean): Sql {
  if (!values.some(value => value instanceof Sql || value === undefined)) {
    return new Sql(strings, values, { isPrepared, isFixed: true })
  }
  const isFixed = values.every(value => !(value instanceof Sql) || value.isFixed)
  const flatValues: unknown[] = []
  values.forEach((value, index) => {
    if (value === undefined) throw new TypeError(`undefined in SQL after "${strings[index]!.slice(-60).trim()}"`)
    if (!(value instanceof Sql)) flatValues.push(value)
    else for (const bound of value.values) flatValues.push(bound)
  })
  const flatStrings = isFixed ? flattenedOnce(strings, values) : flattened(strings, values)
  return new Sql(flatStrings, flatValues, { isPrepared, isFixed })
}

function flattened(strings: readonly string[], values: readonly unknown[]): string[] {
  const flat: string[] = [strings[0]!]
  values.forEach((value, index) => {
    const following = strings[index + 1]!
    if (!(value instanceof Sql)) return void flat.push(following)
    flat[flat.length - 1] += value.strings[0]!
    for (const text of value.strings.slice(1)) flat.push(text)
    flat[flat.length - 1] += following
  })
  return flat
}

/** By a template's strings, then by those of each fragment in turn: what a statement is put together from. */
interface Parts {
  flat: readonly string[] | null
  next: WeakMap<readonly string[], Parts>
}

const NO_FRAGMENT: readonly string[] = []
const known = partsOf()

function partsOf(): Parts {
  return { flat: null, next: new WeakMap() }
}

/** The same array for the same fragments, so that the text and the name of a statement are found by it. */
function flattenedOnce(strings: readonly string[], values: readonly unknown[]): readonly string[] {
  let parts = following(known, strings)
  for (const value of values) parts = following(parts, value instanceof Sql ? value.strings : NO_FRAGMENT)
  return (parts.flat ??= flattened(strings, values))
}

function following({ next }: Parts, strings: readonly string[]): Parts {
  let parts = next.get(strings)
  if (!parts) next.set(strings, (parts = partsOf()))
  return parts
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
