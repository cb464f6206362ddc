// Extraction, top-down: may a model read this message, is the schema sound, are there tokens left; ask, check, ask once more
// when the answer does not match.
import { listLiveKeys } from '../../identity/api-keys/live.ts'
import { system } from '../../platform/db/actor.ts'
import { retryWhileUnavailable } from '../../platform/db/retry.ts'
import type { KeyPrincipal } from '../../platform/principal.ts'
import { notFound, refuse, type Refusal } from '../../platform/refusal.ts'
import type { World } from '../../platform/world.ts'
import { notForModels } from '../messages/file.ts'
import { requireMessageInReach } from '../messages/find.ts'
import { findAiEnabled, findStanding } from './mail-queries.ts'
import { readMailText } from './mail-text.ts'
import { ModelFailure, type Model, type ModelAnswer } from './model.ts'
import { promptFor, repairPrompt, type ChatMessage } from './prompt.ts'
import type { SchemaChecker } from './schema.ts'
import { overCap, reserve, settle } from './tokens.ts'

export interface Extraction {
  /** Null: extraction is not configured. */
  model: Model | null
  schemas: SchemaChecker
}

interface Wanted {
  caller: Pick<KeyPrincipal, 'keyId' | 'prefix' | 'reach'>
  id: string
  schema: Record<string, unknown>
  /** Aborted when nobody waits for the data any more. */
  signal: AbortSignal
}

/** Of one answer: a few pages of JSON. */
const OUTPUT_TOKENS_MAX = 4_096
/** Fewer are hardly ever enough for an answer. */
const OUTPUT_TOKENS_MIN = 256
/** What a provider adds to the messages: roles, separators, its own words about the schema. */
const OVERHEAD_TOKENS = 512

/** What was used is known, and is not forgotten because the database is away for a moment. */
const SETTLE_MS_MAX = 10_000

/** The data; it matches the schema. */
export async function extract(world: World, { model, schemas }: Extraction, wanted: Wanted): Promise<unknown> {
  const { caller, id, schema, signal: given } = wanted
  const { accountId } = caller.reach
  const message = await requireMessageInReach(world.db, caller.reach, id)
  if (!(await findAiEnabled(world.db, accountId))) throw notEnabled()
  if (!model) {
    throw refuse('not_configured', 'AI is not configured on this installation.', { retryAfterSeconds: 3600 })
  }

  return model.run(accountId, given, async signal => {
    // Within the account's calls: a schema is work for a thread, and an answer that was paid for must find one free.
    const schemaText = await schemas.check(schema, accountId)
    const ask = async (messages: readonly ChatMessage[]) => {
      await requireReadable(world, wanted)
      const { content } = await askWithinCap(world, model, { accountId, messages, schemaText, signal })
      return { content, checked: await schemas.validate(schemaText, content, accountId) }
    }
    const prompt = promptFor(await readMailText(world.db, message))
    const { content, checked: first } = await ask(prompt)
    const last = first.kind === 'valid' ? first : (await ask(repairPrompt(prompt, content, first.errors))).checked
    if (last.kind === 'valid') {
      await requireReadable(world, wanted)
      return last.data
    }
    throw refuse('unavailable', "The model's answer does not match the schema, and neither did its second one.", {
      retryAfterSeconds: 30,
    })
  })
}

/**
 * Asked as late as can be, before each question and before data is handed out: mail may be found bad while a model reads, AI
 * switched off, and the key revoked.
 */
async function requireReadable({ db, clock }: World, { caller, id }: Wanted): Promise<void> {
  const [standing, keys] = await Promise.all([
    findStanding(db, id),
    listLiveKeys(db, { ids: [caller.keyId], now: clock.now() }),
  ])
  if (keys[0]?.prefix !== caller.prefix) throw refuse('unauthorized', 'The API key is no longer valid.')
  if (!standing) throw notFound('message')
  if (!standing.ai_enabled) throw notEnabled()
  if (standing.is_blocked || standing.folder_key === 'spam') throw notForModels()
}

/** One question, paid for whatever becomes of it: also when its caller leaves just before the answer. */
async function askWithinCap(
  world: World,
  model: Model,
  asked: { accountId: string; messages: readonly ChatMessage[]; schemaText: string; signal: AbortSignal },
): Promise<ModelAnswer> {
  const { accountId, messages, schemaText, signal } = asked
  const promptTokens = promptTokensMax(messages, schemaText)
  const wanted = { accountId, promptTokens, outputMin: OUTPUT_TOKENS_MIN, outputMax: OUTPUT_TOKENS_MAX }
  if (signal.aborted) throw refuse('unavailable', 'The time for the extraction is over.', { retryAfterSeconds: 30 })
  const reservation = await reserve(world, BY, wanted)
  const outputTokensMax = reservation.tokens - promptTokens
  let used = reservation.tokens
  try {
    const answer = await model.ask({ messages, schemaText, outputTokensMax }, signal)
    used = answer.tokens ?? used
    if (answer.isCut) throw cutAt(world, outputTokensMax)
    return answer
  } catch (failure) {
    if (!(failure instanceof ModelFailure)) throw failure
    if (!failure.mayHaveUsed) used = 0
    throw refuse('unavailable', failure.message, {
      retryAfterSeconds: failure.retryAfterSeconds,
      cause: failure.cause ?? failure,
    })
  } finally {
    await retryWhileUnavailable(() => settle(world, BY, reservation, used), AbortSignal.timeout(SETTLE_MS_MAX))
  }
}

/** Nothing of it is audited: tokens are counted, and what is saved has an entry of its own. */
const BY = system('extraction')

/** No tokenizer makes more tokens of a text than it has bytes. */
const promptTokensMax = (messages: readonly ChatMessage[], schemaText: string): number =>
  messages.reduce((bytes, { content }) => bytes + Buffer.byteLength(content), OVERHEAD_TOKENS) +
  Buffer.byteLength(schemaText)

/** Asked again it would be cut again. */
function cutAt({ clock }: World, outputTokensMax: number): Refusal {
  if (outputTokensMax < OUTPUT_TOKENS_MAX) return overCap({ now: clock.now(), isReached: true })
  const message = `The model's answer has more than ${OUTPUT_TOKENS_MAX} tokens. Ask for less with the schema.`
  return refuse('unavailable', message, { retryAfterSeconds: 30 })
}

const notEnabled = (): Refusal => refuse('ai_not_enabled', 'AI is not enabled for this account: ask the operator.')
