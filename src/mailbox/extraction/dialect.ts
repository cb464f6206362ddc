// How a provider wants to be asked. All speak the same protocol, and each leaves out some of it: one has no JSON Schema, one
// has another name for the limit of the answer. What a provider refuses is left out, and remembered when that has helped.
import { withSchema, type ChatMessage } from './prompt.ts'

export interface Dialect {
  /** How it is held to JSON. Without JSON Schema the schema stands in the prompt. */
  format: 'json_schema' | 'json_object' | 'none'
  limitField: 'max_tokens' | 'max_completion_tokens'
  hasTemperature: boolean
}

export const FIRST_DIALECT: Dialect = { format: 'json_schema', limitField: 'max_tokens', hasTemperature: true }

export interface Question {
  messages: readonly ChatMessage[]
  /** JSON. */
  schemaText: string
  outputTokensMax: number
}

export function requestBody(
  model: string,
  { format, limitField, hasTemperature }: Dialect,
  question: Question,
): string {
  const { messages, schemaText, outputTokensMax } = question
  return JSON.stringify({
    model,
    messages: format === 'json_schema' ? messages : withSchema(messages, schemaText),
    ...(format === 'json_schema' && {
      response_format: {
        type: format,
        json_schema: { name: 'extraction', strict: true, schema: JSON.parse(schemaText) as object },
      },
    }),
    ...(format === 'json_object' && { response_format: { type: format } }),
    [limitField]: outputTokensMax,
    ...(hasTemperature && { temperature: 0 }),
    stream: false,
  })
}

const FORMAT = /response_format|json_schema|json_object|structured.?output|guided/i

/** What to try after a refusal; null when nothing of ours was refused. Each step leaves something out, so there are few. */
export function dialectAfter(dialect: Dialect, { status, text }: { status: number; text: string }): Dialect | null {
  if (status !== 400 && status !== 422) return null
  if (dialect.limitField === 'max_tokens' && /max_completion_tokens/i.test(text))
    return { ...dialect, limitField: 'max_completion_tokens' }
  if (dialect.hasTemperature && /\btemperature\b/i.test(text)) return { ...dialect, hasTemperature: false }
  if (dialect.format !== 'none' && FORMAT.test(text))
    return { ...dialect, format: dialect.format === 'json_schema' ? 'json_object' : 'none' }
  return null
}

/**
 * A provider may refuse one schema and take others: strict ones want every field to be required. That says nothing about the
 * next caller's schema.
 */
export const isAboutSchema = (text: string): boolean =>
  /invalid schema|additionalProperties|schema for response_format/i.test(text)
