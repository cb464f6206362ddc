// `npm run chaos [-- kills|pauses|outages|receiving|scheduling] [--rounds N] [--seed S]`: the service broken on purpose, and the
// books checked afterwards.
// kills: servers and PostgreSQL under load, killed at random moments. pauses: pauses against eight workers.
// outages: the database away for seconds under two servers, with no process dying. receiving: mail for inboxes under kills.
// scheduling: servers killed as drafts fall due and as approvals are given.
import { createHash } from 'node:crypto'
import { parseArgs } from 'node:util'
import { runKills } from './kills.ts'
import { runOutages } from './outages.ts'
import { runPauses } from './pauses.ts'
import { runReceiving } from './receiving.ts'
import { runScheduling } from './scheduling.ts'

const scenarios: Record<string, { run: (chaos: Chaos) => Promise<string[]>; rounds: number }> = {
  kills: { run: runKills, rounds: 6 },
  pauses: { run: runPauses, rounds: 200 },
  outages: { run: runOutages, rounds: 4 },
  receiving: { run: runReceiving, rounds: 6 },
  scheduling: { run: runScheduling, rounds: 4 },
}

export interface Chaos {
  rounds: number
  /** Repeatable: the same seed gives the same victims and moments. */
  random: (below: number) => number
}

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string' }, seed: { type: 'string' } },
  allowPositionals: true,
})
const name = positionals[0] ?? 'kills'
const scenario = scenarios[name]
if (!scenario) {
  console.error(`chaos: no scenario ${name}; there are ${Object.keys(scenarios).join(', ')}`)
  process.exit(2)
}
const seed = values.seed ?? String(process.hrtime.bigint() % 1_000_000n)
const rounds = Number(values.rounds ?? scenario.rounds)
console.log(`chaos: ${name}, seed ${seed}, ${rounds} rounds`)
let drawn = 0
const random = (below: number): number =>
  createHash('sha256').update(`${seed} ${drawn++}`).digest().readUInt32BE() % below
const faults = await scenario.run({ rounds, random })
for (const fault of faults) console.log(`✗ ${fault}`)
console.log(faults.length === 0 ? '✓ the books balance' : `chaos: failed with seed ${seed}`)
process.exit(faults.length === 0 ? 0 : 1)
