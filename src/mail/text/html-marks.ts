// How mail clients mark, in the HTML they write, where they quote and where a signature stands. The marks hold in every
// language, which the words around a quote do not.
import type { Attributes } from './scan-html.ts'

export type Mark = 'quote' | 'attribution' | 'signature'

/** Containers in which the message that is answered begins, with the line that says whose it is. */
const QUOTING_CLASSES: ReadonlySet<string> = new Set([
  'gmail_quote', // Gmail
  'gmail_quote_container',
  'gmail_extra',
  'moz-cite-prefix', // Thunderbird
  'moz-forward-container',
  'yahoo_quoted', // Yahoo
  'protonmail_quote', // Proton
  'tutanota_quote', // Tutanota
  'zmail_extra', // Zoho
  'ms-outlook-mobile-reference-message', // Outlook on phones
  'outlookmessageheader', // Outlook 2003
  'acompli-quoted',
  'hey_quote',
  'front-blockquote',
  'airmail_on', // Airmail, Spark
  'spark_quote',
  'samsung_quote',
  'qqmail_quote',
])
const QUOTING_IDS: ReadonlySet<string> = new Set([
  'divrplyfwdmsg', // Outlook on the web
  'appendonsend',
  'mail-editor-reference-message-container', // new Outlook
  'olk_src_body_section', // Outlook for Mac
  'replyblock',
  'isreplycontent', // QQ, NetEase
  'stopspelling',
  'reply-intro',
  'x_divrplyfwdmsg',
])
const SIGNATURE_CLASSES: ReadonlySet<string> = new Set([
  'gmail_signature',
  'gmail_signature_prefix',
  'moz-signature',
  'protonmail_signature_block',
  'tutanota_signature',
  'x_gmail_signature',
])
const SIGNATURE_IDS: ReadonlySet<string> = new Set([
  'signature', // Outlook on the web
  'ms-outlook-mobile-signature',
  'applemailsignature',
  'x_signature',
])
/** Outlook draws a line above the header of what it quotes, in one of three shades. */
const OUTLOOK_RULE = /border-top:\s*(?:solid\s+)?#?(?:b5c4df|e1e1e1)\b/

export function markOf(name: string, attributes: Attributes): Mark | null {
  if (attributes.size === 0) return null
  const classes = (attributes.get('class') ?? '').slice(0, 1_000).toLowerCase().split(/\s+/)
  const id = (attributes.get('id') ?? '').slice(0, 200).toLowerCase()
  if (name === 'blockquote') return isCitation(attributes, classes) ? 'quote' : null
  if (SIGNATURE_IDS.has(id) || classes.some(each => SIGNATURE_CLASSES.has(each))) return 'signature'
  if (QUOTING_IDS.has(id) || classes.some(each => QUOTING_CLASSES.has(each))) return 'attribution'
  const label = name === 'div' ? attributes.get('name')?.slice(0, 100).toLowerCase() : undefined
  if (label === 'messagesignaturesection') return 'signature' // Spark
  if (label === 'quote' || label === 'messagereplysection') return 'attribution' // GMX and Web.de, Spark
  const style = attributes.get('style')
  return name === 'div' && style && OUTLOOK_RULE.test(style.slice(0, 1_000).toLowerCase()) ? 'attribution' : null
}

/** A blockquote is also how authors indent: only what a client marked counts. */
function isCitation(attributes: Attributes, classes: readonly string[]): boolean {
  return (
    attributes.get('type')?.toLowerCase() === 'cite' ||
    attributes.has('cite') ||
    classes.some(each => /quote|cite/.test(each)) ||
    /border-left(?:-width|-style)?:\s*[^;]*(?:solid|[1-9]\d*px)/i.test((attributes.get('style') ?? '').slice(0, 1_000))
  )
}
