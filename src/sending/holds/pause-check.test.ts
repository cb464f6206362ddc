import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lockAccountExclusively } from '../../control/suspensions/locks.ts'
import { system } from '../../platform/db/actor.ts'
import { aBox } from '../../../test/support/box.ts'
import { anAccount, eventually } from '../../../test/support/factories.ts'
import { PauseCheck } from './pause-check.ts'

test('attempts of an account whose pause is being made wait for it, and those of others do not', async t => {
  const box = await aBox({ until: t, environment: { ROLES: 'api' } })
  const { world } = box.app
  const [paused, other] = [await anAccount({ box }), await anAccount({ box })]
  const check = new PauseCheck(world)
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const { promise: locked, resolve: begin } = Promise.withResolvers<void>()
  const pausing = world.db.transact(system('test'), async tx => {
    await lockAccountExclusively(tx, paused.id)
    begin()
    await end
  })
  await locked
  const answers: string[] = []
  const ask = async (name: string, accountId: string): Promise<void> => {
    await check.mayBegin({ accountId, facts: [], isClear: false })
    answers.push(name)
  }
  const asked = Array.from({ length: 20 }, () => [ask('paused', paused.id), ask('other', other.id)]).flat()
  await eventually('the others have begun', async () => answers.length === 20, 4_000)
  assert.deepEqual(new Set(answers), new Set(['other']))
  await ask('other', other.id)
  resolve()
  await Promise.all([pausing, ...asked])
  assert.equal(answers.filter(name => name === 'paused').length, 20)
})
