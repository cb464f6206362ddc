// The pages behind the link of an approval. Plain, readable, no script. The mail is shown as text with what was found in it
// marked, and its sanitised HTML in a frame that may run nothing and load nothing.
import { escapeHtml } from '../../mail/text/escape-html.ts'
import type { LinkedApproval } from './queries.ts'

interface Asked {
  /** What the forms post to, relative to the page, so that it works under any address. */
  forms: string
  /** Why it could not leave. */
  refusal: string | null
}

export const pendingPage = (approval: LinkedApproval, { forms, refusal }: Asked): string =>
  page(
    'A mail waits for your approval',
    `${refusal === null ? '' : `<p class="refusal">It was not sent. ${escapeHtml(refusal)}</p>`}
${headOf(approval)}
${reasonsOf(approval)}
${mailOf(approval)}
<p>Undecided, it is rejected at ${timeOf(approval.expires_at)}.</p>
${buttons(forms)}`,
  )

export const decidedPage = ({ status, decided_by, decided_at, subject }: LinkedApproval): string => {
  const word = status === 'rejected' ? 'Rejected' : 'Approved'
  const when = decided_at ? ` at ${timeOf(decided_at)}` : ''
  const sentence = `The mail <b>${escapeHtml(subject)}</b> was ${word.toLowerCase()} by
    <b>${escapeHtml(decided_by?.name ?? 'nobody')}</b>${when}.`
  return page(word, `<p>${sentence}</p><p>This link has no further use.</p>`)
}

export const expiredPage = ({ expires_at }: LinkedApproval): string =>
  page('Too late', `<p>Nobody decided until ${timeOf(expires_at)}. The mail is rejected and does not leave.</p>`)

export const offPage = (): string =>
  page('Links are switched off', '<p>The account no longer takes decisions by links. Decide over the API.</p>')

export const unknownPage = (): string =>
  page('No such link', '<p>It was cut short or changed, or what it was for is gone. Open it again from the mail.</p>')

function headOf(approval: LinkedApproval): string {
  const { subject, reasons, attachments, attachment_count } = approval
  const inSubject = reasons.flatMap(({ findings = [] }) => findings.filter(({ where }) => where === 'subject'))
  const files = attachments.map(
    ({ filename, content_type, size }) =>
      `${escapeHtml(filename ?? 'without a name')} (${escapeHtml(content_type)}, ${size} bytes)`,
  )
  const unlisted = attachment_count - attachments.length
  if (unlisted > 0) files.push(`and ${unlisted} more`)
  const rows: [string, string][] = [
    ['From', escapeHtml(approval.from_text)],
    ['To', escapeHtml(approval.to_list.join(', '))],
    ['Cc', escapeHtml(approval.cc_list.join(', '))],
    ['Bcc', escapeHtml(approval.bcc_list.join(', '))],
    ['Subject', marked(subject, inSubject)],
    ['Attachments', files.join('<br>')],
    ['Asked by', escapeHtml(approval.requested_by.name)],
  ]
  const shown = rows.filter(([, value]) => value !== '').map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`)
  return `<dl>${shown.join('')}</dl>`
}

function reasonsOf({ reasons }: LinkedApproval): string {
  const items = reasons.map(({ detail, findings = [] }) => {
    const found = findings.map(
      ({ label, where, excerpt }) =>
        `<li>${escapeHtml(label)} in ${escapeHtml(where)}: <mark>${escapeHtml(excerpt)}</mark></li>`,
    )
    return `<li>${escapeHtml(detail)}${found.length > 0 ? `<ul>${found.join('')}</ul>` : ''}</li>`
  })
  return `<h2>Why it waits</h2><ul>${items.join('')}</ul>`
}

function mailOf(approval: LinkedApproval): string {
  const { text, html, reasons } = approval
  const inText = reasons.flatMap(({ findings = [] }) => findings.filter(({ where }) => where === 'text'))
  const unshown = unshownOf(approval).map(each => `<p class="refusal">${each}</p>`)
  return `<h2>The mail</h2>
${unshown.join('')}
<pre>${marked(text ?? '', inText)}</pre>
${html === null ? '' : `<h2>As HTML, without pictures, with hidden text shown</h2>${frameOf(html)}${addressesIn(html)}`}`
}

/** What leaves with it and is not on this page. */
function unshownOf({ is_cut, notes, to_list, cc_list, bcc_list, recipient_count }: LinkedApproval): string[] {
  const named = to_list.length + cc_list.length + bcc_list.length
  return [
    is_cut && 'It is longer than this page shows. Read the rest over the API before you decide.',
    recipient_count > named && `It goes to ${recipient_count} recipients, and this page names ${named} of them.`,
    ...notes.map(escapeHtml),
  ].filter(each => each !== false)
}

/** Over the styles of the mail, none of which is important: what its reader would not see, somebody who decides is to see. */
const SHOW_ALL = `* { display: revert !important; visibility: visible !important; opacity: 1 !important; color: #222 !important;
  background: #fff !important; font-size: 1rem !important; line-height: 1.4 !important; text-indent: 0 !important;
  height: auto !important; max-height: none !important; width: auto !important; max-width: 100% !important;
  overflow: visible !important; white-space: normal !important }`

const frameOf = (html: string): string =>
  `<iframe sandbox="" title="The mail as HTML" srcdoc="${escapeHtml(`<style>${SHOW_ALL}</style>${html}`)}"></iframe>`

const ADDRESSES_MAX = 200

/** Of links and pictures, in which data may leave as well as in text. */
function addressesIn(html: string): string {
  const found = [...html.matchAll(/ (?:href|data-remote-src)="([^"]+)"/g)].map(([, address]) => `<li>${address}</li>`)
  const all = [...new Set(found)]
  if (all.length === 0) return ''
  const rest = all.length > ADDRESSES_MAX ? `<li>and ${all.length - ADDRESSES_MAX} more</li>` : ''
  return `<h2>Its links and pictures lead to</h2><ul>${all.slice(0, ADDRESSES_MAX).join('')}${rest}</ul>`
}

/** Escaped, with the spans between marks. They may overlap, and may lie behind what is shown. */
function marked(text: string, spans: readonly { start: number | null; end: number | null }[]): string {
  const sorted = spans
    .flatMap(({ start, end }) => (start !== null && end !== null && start < end ? [{ start, end }] : []))
    .toSorted((left, right) => left.start - right.start)
  const parts: string[] = []
  let at = 0
  for (const { start, end } of sorted) {
    if (end <= at || start >= text.length) continue
    const from = Math.max(start, at)
    parts.push(escapeHtml(text.slice(at, from)), '<mark>', escapeHtml(text.slice(from, end)), '</mark>')
    at = end
  }
  parts.push(escapeHtml(text.slice(at)))
  return parts.join('')
}

/** Each posts, because programs that check mail follow links. */
const buttons = (forms: string): string => `<div class="buttons">
<form method="post" action="${forms}approve"><button class="approve" type="submit">Approve and send</button></form>
<form method="post" action="${forms}reject"><button type="submit">Reject</button></form></div>`

const timeOf = (time: Date): string => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${title}</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #f6f6f4; margin: 0; padding: 1rem }
  main { background: #fff; padding: 1.5rem 2rem; border-radius: 10px; max-width: 48rem; margin: 0 auto;
    border: 1px solid #e3e3df; overflow-wrap: anywhere }
  h1 { font-size: 1.3rem; margin: 0 0 .5rem } h2 { font-size: 1rem; margin: 1.2rem 0 .3rem }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 }
  dt { color: #666 } dd { margin: 0 } mark { background: #ffd75e }
  pre { white-space: pre-wrap; background: #f6f6f4; padding: 1rem; border-radius: 6px; max-height: 30rem; overflow: auto }
  iframe { width: 100%; height: 26rem; border: 1px solid #e3e3df; border-radius: 6px; background: #fff }
  .refusal { background: #fdecea; padding: .6rem 1rem; border-radius: 6px }
  .buttons { display: flex; gap: 1rem }
  button { font: inherit; padding: .55rem 1.2rem; border: 0; border-radius: 6px; background: #666; color: #fff }
  .approve { background: #1f7a3d }
</style></head><body><main><h1>${title}</h1>${body}</main></body></html>
`
