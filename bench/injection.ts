// How many mails with instructions for an agent are found, and how many ordinary ones are taken for such: against the labels of
// a collection that is not part of this project.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspectContent } from '../src/mailbox/shield/inspect.ts'
import { benchDoors } from './doors.ts'
import { heading, note, report } from './support/report.ts'

const CORPORA = process.env['CORPORA_DIR'] ?? '../shared/corpora'
const FOUND_MIN = 0.9
const FLAGGED_MAX = 0.02
const SHOWN_MAX = 20

interface Labelled {
  id: string
  label: 'injection' | 'injection-weak' | 'benign'
  category: string
  from: string
  subject: string
  body: string
}

export async function benchInjection(): Promise<void> {
  heading(`Shield: instructions for an agent, against their labels (${CORPORA})`)
  const file = join(CORPORA, 'injection/labelled.jsonl')
  if (!existsSync(file)) {
    note('The collection is not here, so nothing was measured. CORPORA_DIR says where it is.')
    return
  }
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  const judged = lines.map(line => judge(JSON.parse(line) as Labelled))
  const labelled = Map.groupBy(judged, ({ label }) => label)
  const shareOf = (label: Labelled['label']) => {
    const mails = labelled.get(label) ?? []
    return { count: mails.length, share: mails.filter(({ seen }) => seen).length / Math.max(mails.length, 1) }
  }
  for (const { id, category } of (labelled.get('injection') ?? []).filter(({ seen }) => !seen).slice(0, SHOWN_MAX)) {
    note(`not found: ${id} (${category})`)
  }
  for (const { id, seen } of (labelled.get('benign') ?? []).filter(mail => mail.seen).slice(0, SHOWN_MAX)) {
    note(`flagged: ${id}: ${seen}`)
  }
  const found = shareOf('injection')
  const flagged = shareOf('benign')
  const weak = shareOf('injection-weak')
  report({
    name: `injection: found of ${found.count}`,
    value: percent(found.share),
    target: `>= ${percent(FOUND_MIN)}`,
    isMet: found.share >= FOUND_MIN,
  })
  report({
    name: `benign: flagged of ${flagged.count}`,
    value: percent(flagged.share),
    target: `<= ${percent(FLAGGED_MAX)}`,
    isMet: flagged.share <= FLAGGED_MAX,
  })
  note(`injection-weak (an unrelated task added): found ${percent(weak.share)} of ${weak.count}`)
  await benchDoors(judged.filter(({ label }) => label !== 'benign'))
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

function judge(mail: Labelled): Labelled & { seen: string | null } {
  const findings = inspectContent({
    subject: mail.subject,
    text: mail.body,
    html: null,
    htmlText: '',
    hiddenText: '',
    from: [{ name: '', address: mail.from }],
    replyTo: [],
    to: [],
    cc: [],
    attachments: [],
  })
  return { ...mail, seen: findings[0]?.detail ?? null }
}
