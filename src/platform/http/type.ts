// What contracts are built with: the types of TypeBox over plain JSON schemas. The library's own builders do the same and more
// in 370 modules, and loading those was a sixth of the CPU time that a process needed to start.
import type Library from 'typebox'

type Built = 'Array' | 'Boolean' | 'Enum' | 'Integer' | 'Literal' | 'Number' | 'Object' | 'Optional' | 'Partial'
type Builders = Pick<typeof Library, Built | 'Record' | 'String' | 'Union' | 'Unknown' | 'Unsafe'>

/** A JSON schema, or what is added to one. */
type Json = Record<string, unknown>
type Properties = Record<string, Json>

/** Kept beside the schemas: what a reader of the OpenAPI document sees of it is `required`. */
const optional = new WeakSet<Json>()

function objectOf(properties: Properties, options?: Json): Json {
  const required = Object.keys(properties).filter(name => !optional.has(properties[name]!))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

function optionalOf(schema: Json): Json {
  const copy = { ...schema }
  optional.add(copy)
  return copy
}

function partialOf({ properties }: { properties: Properties }, options?: Json): Json {
  const partial = Object.entries(properties).map(([name, schema]) => [name, optionalOf(schema)] as const)
  return objectOf(Object.fromEntries(partial), options)
}

/** Of what the library takes only this: lists for an enum, any text as the key of a record, and objects for `Partial`. */
const builders: Record<keyof Builders, (...given: never[]) => Json> = {
  Array: (items: Json, options?: Json) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Json) => ({ type: 'boolean', ...options }),
  Enum: (values: readonly string[], options?: Json) => ({ enum: values, ...options }),
  Integer: (options?: Json) => ({ type: 'integer', ...options }),
  Literal: (value: string | number | boolean, options?: Json) => ({ type: typeof value, const: value, ...options }),
  Number: (options?: Json) => ({ type: 'number', ...options }),
  Object: objectOf,
  Optional: optionalOf,
  Partial: partialOf,
  Record: (_text: Json, value: Json, options?: Json) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  String: (options?: Json) => ({ type: 'string', ...options }),
  Union: (anyOf: Json[], options?: Json) => ({ anyOf, ...options }),
  Unknown: (options?: Json) => ({ ...options }),
  Unsafe: (schema: Json) => ({ ...schema }),
}

export const Type = builders as unknown as Builders
