// `npm run bench [section…]`: prints figures beside their targets. Exit code 1 when a target was missed.
import { benchBilling } from './billing.ts'
import { benchCompose } from './compose.ts'
import { benchDrafts } from './drafts.ts'
import { benchConnected } from './connected.ts'
import { benchConnectedLarge } from './connected-large.ts'
import { benchGrowth } from './growth.ts'
import { benchGuardian } from './guardian.ts'
import { benchHttp } from './http.ts'
import { benchJournal } from './journal.ts'
import { benchLatency } from './latency.ts'
import { benchMailboxes } from './mailboxes.ts'
import { benchMcp } from './mcp.ts'
import { benchMemory } from './memory.ts'
import { benchNeighbours } from './neighbours.ts'
import { benchPause } from './pause.ts'
import { benchObserved } from './observed.ts'
import { benchObserve } from './observe.ts'
import { benchReceive } from './receive.ts'
import { benchReports } from './reports.ts'
import { benchSamples } from './samples.ts'
import { benchSending } from './sending.ts'
import { benchStart } from './start.ts'
import { benchSubmission } from './submission.ts'
import { benchStreams } from './streams.ts'
import { summary } from './support/report.ts'
import { benchWebhooks } from './webhooks.ts'

const sections: Record<string, () => Promise<void>> = {
  http: benchHttp,
  journal: benchJournal,
  sending: benchSending,
  submission: benchSubmission,
  compose: benchCompose,
  drafts: benchDrafts,
  latency: benchLatency,
  pause: benchPause,
  webhooks: benchWebhooks,
  streams: benchStreams,
  mcp: benchMcp,
  growth: benchGrowth,
  observe: benchObserve,
  observed: benchObserved,
  guardian: benchGuardian,
  billing: benchBilling,
  neighbours: benchNeighbours,
  receive: benchReceive,
  connected: benchConnected,
  'connected-large': benchConnectedLarge,
  mailboxes: benchMailboxes,
  reports: benchReports,
  samples: benchSamples,
  memory: benchMemory,
  start: benchStart,
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter(name => !sections[name])
if (unknown.length > 0) {
  console.error(`bench: no section ${unknown.join(', ')}; there are ${Object.keys(sections).join(', ')}`)
  process.exit(2)
}
for (const [name, run] of Object.entries(sections)) if (wanted.length === 0 || wanted.includes(name)) await run()
process.exit(summary() ? 0 : 1)
