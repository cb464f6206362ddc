// What a tool is: a declaration with its schemas, and the use case that it calls on behalf of the key.
import type { Static, TObject } from 'typebox'
import type { Actor } from '../../platform/db/actor.ts'
import { validator } from '../../platform/http/validate.ts'
import { mayAct, type KeyPrincipal, type Scope } from '../../platform/principal.ts'
import { refuse } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import type { Composing } from '../compose/composing.ts'
import type { Search } from '../search/search.ts'

/** What tools use besides the World. */
export interface ToolUses {
  search: Search
  composing: Composing
}

/** On whose behalf a tool runs. */
interface ToolCall<Input> {
  world: World
  use: ToolUses
  caller: KeyPrincipal
  by: Actor
  input: Input
}

export interface ToolAnswer {
  /** For the model. What comes from mail is fenced. */
  text: string
  /** The same as data, by the output schema. */
  structured: object
}

export interface Tool {
  name: string
  title: string
  description: string
  input: TObject
  output: TObject
  /** What a client may tell its user: whether the tool changes anything, and whether it may be called again. */
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean }
  scope: Scope
  run(call: ToolCall<never>): Promise<ToolAnswer>
}

export const tool = <Input extends TObject>(
  declared: Omit<Tool, 'input' | 'run'> & { input: Input; run(call: ToolCall<Static<Input>>): Promise<ToolAnswer> },
): Tool => declared

export const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

/** What the key may call. One without the scope does not see the tool: an agent pays for each description. */
export const toolsFor = (caller: KeyPrincipal, tools: readonly Tool[]): Tool[] =>
  tools.filter(({ scope }) => mayAct(caller, scope))

interface JsonSchema {
  properties?: Record<string, unknown>
  required?: string[]
  additionalProperties?: boolean
}

/** The key of an inbox names none: the server adds it. */
export function inputSchemaFor(caller: KeyPrincipal, { input }: Tool): JsonSchema {
  const { properties = {}, required = [], ...rest } = plain(input) as JsonSchema
  const isPinned = caller.reach.inboxId !== null
  const shown = Object.entries(properties).filter(([name]) => !(isPinned && name === 'inbox_id'))
  return {
    ...rest,
    properties: Object.fromEntries(shown),
    required: required.filter(name => shown.some(([known]) => known === name)),
    additionalProperties: false,
  }
}

/** Checked against the schema that the caller was shown; throws a refusal that names what is wrong. */
export function readInput(caller: KeyPrincipal, called: Tool, given: Record<string, unknown>): object {
  const known = Object.keys(inputSchemaFor(caller, called).properties ?? {})
  const unknown = Object.keys(given).find(name => !known.includes(name))
  if (unknown !== undefined) {
    throw refuse(
      'invalid_request',
      `${called.name} has no argument ${unknown.slice(0, 100)}; it has ${known.join(', ')}.`,
    )
  }
  const { inboxId } = caller.reach
  const takesInbox = 'inbox_id' in called.input.properties
  const input = { ...given, ...(takesInbox && inboxId !== null && { inbox_id: inboxId }) }
  checkOf(called)(input)
  return input
}

const checks = new Map<Tool, (value: unknown) => void>()

function checkOf(called: Tool): (value: unknown) => void {
  let check = checks.get(called)
  if (!check) checks.set(called, (check = validator('arguments', called.input)))
  return check
}

/** A schema without the marks that are our own. */
export function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).filter(([name]) => !name.startsWith('x-') && name !== 'examples')
  return Object.fromEntries(entries.map(([name, value]) => [name, plain(value)]))
}

/** A result goes into the context of a model, which is paid for by the word: it has a bound, and says how to go on. */
const RESULT_BYTES_MAX = 128 * 1024
/** Around the text and the data of an answer. */
const ENVELOPE_BYTES = 1_024

const fits = ({ text, structured }: ToolAnswer): boolean =>
  Buffer.byteLength(JSON.stringify(text)) + Buffer.byteLength(JSON.stringify(structured)) + ENVELOPE_BYTES <=
  RESULT_BYTES_MAX

/** The answer to as much as fits: asked for less and less until it does. At 1 it must. */
export async function fitted(wanted: number, answer: (amount: number) => Promise<ToolAnswer>): Promise<ToolAnswer> {
  for (let amount = wanted; ; amount = Math.max(1, Math.floor(amount / 2))) {
    const given = await answer(amount)
    if (amount === 1 || fits(given)) return given
  }
}
