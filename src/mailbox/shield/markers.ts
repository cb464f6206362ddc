// Forms that only machines give meaning to: marks of roles in a conversation, calls of tools, images that carry data out. Each
// pattern is bounded and begins with something rare, so that the time is in proportion to the text.

import { ORDER_FORMS } from './calls.ts'

interface Marker {
  seen: string
  pattern: RegExp
}

const MAIL_VERBS =
  'forward|send|delete|reply|read|search|list|archive|move|export|share|fetch|get|mark|compose|draft|trash'
const MAIL_NOUNS = 'e?mails?|messages?|inbox|threads?|contacts?|attachments?|reply|draft|mailbox'

/** Marks of roles as templates of models write them, and tags that end a mail and begin an order. */
const PART = '(?:[_ -]?(?:prompt|message|override|instructions?|note|reminder))'
const ROLE_MARKS = [
  String.raw`<\|[a-z0-9_ ]{2,30}\|>|<\/?end of (?:user )?(?:input|e?mail|message|data|context)>`,
  String.raw`(?<!["'\x60“])<\/?(?:system|assistant|developer|sys)${PART}?>`,
  String.raw`<\/?(?:instructions?|information|system-reminder|important_instructions|(?:un)?trusted[a-z_ -]{0,30})>`,
  String.raw`<\/(?:user|human|e?mail|message|document|context)>\s{0,5}<\/?(?:system|instructions?|assistant|user|developer)`,
  String.raw`<<\/?sys>>|\[\/?inst\]`,
  String.raw`\[\/?(?:system|assistant|admin|developer)(?:[ _-](?:prompt|message|override|instructions?|note|notice|update))?\]`,
]

const NOTE = '(?:note|message|instructions?|command|memo|override|directive)'

/** A note in brackets or in a comment that names the machine it is for. */
const NOTE_TO_MACHINE = [
  String.raw`(?:[[({]|<!--|\/\*|\/\/|%%)\s{0,3}`,
  `(?:(?:hidden |secret |private )?${NOTE} (?:to|for) )?(?:the )?`,
  '(?:(?:ai|assistant|llm|bot|language model)s?(?: (?:assistant|agent|reader|model)s?)?(?: only)?',
  String.raw`(?: ${NOTE})?|(?:system|developer|agent|admin|model|operator) ${NOTE})\s?[:：]`,
]

/** A line that begins as the turn of the system, and goes on with an order. */
const SYSTEM_LINE = [
  String.raw`(?:^|[\n>])[ \t>*#=_-]{0,12}(?:system|assistant|developer)(?:[ -](?:prompt|notice|${NOTE}))?`,
  String.raw`[ \t]?[\])*_]{0,3}[:：][ \t*_"]{0,4}`,
  '(?:you |your |ignore|disregard|forget|override|new |the (?:user|assistant|e?mail|message|following|above)|',
  'forward|send |delete|all previous|context|',
  'from now|do not|assistant|prior|reply|attention|execute|run |call |always|never)',
]

/** A call with a quoted argument of a tool that is named for mail. */
const MAIL_CALL = [
  String.raw`\b(?:${MAIL_VERBS})_?(?:to_)?(?:all_)?(?:${MAIL_NOUNS})`,
  String.raw`\(\s{0,3}(?:[a-z_]{1,20}\s?[=:]\s?)?["'[{][^()\n]{1,300}\)`,
]

/** A call of a tool that is named by a common word: only with an address or the number of a mail. */
const PLAIN_CALL = [
  String.raw`\b(?:forward|send|delete|reply|share|export|archive|move|trash)\(`,
  String.raw`[^()\n]{0,200}(?:@[a-z0-9-]{1,60}\.|["'](?:e|m|msg|email|message|thread)[-_]?\d)[^()\n]{0,200}\)`,
]

/** A call as models write it down: as a tag, or as an object with the name of the tool. */
const CALL_AS_DATA = [
  String.raw`<(?:tool_call|function_call|tool_use|invoke|function_calls|tool|antml:invoke)\b[^<>]{0,200}>`,
  String.raw`|"(?:tool|tool_name|function|function_call|action|tool_calls)"\s{0,5}:\s{0,5}(?:\[\s{0,5})?`,
  String.raw`(?:\{\s{0,5}"(?:name|function)"\s{0,5}:\s{0,5}){0,2}`,
  '"[a-z_.]{0,20}(?:mail|message|forward|send|delete|exec|shell|http|fetch|upload)[a-z_.]{0,20}"',
]

/** An image in Markdown or HTML whose address has a place to be filled in. */
const FILLED_IN = String.raw`(?:\{\{?[a-z_ ]{2,40}\}|\[[a-z_ ]{4,40}\]|<[a-z_ ]{4,40}>)`
const IMAGE = [
  String.raw`!\[[^\]\[\n]{0,200}\]\(\s{0,3}https?:\/\/[^()\s]{1,300}`,
  String.raw`(?:[{<[$]|%7b|=\)|insert|base64|your_|secret|summary|conversation)`,
  String.raw`|<img\b[^<>]{0,300}\bsrc\s?=\s?["']?https?:\/\/[^"'<>\s]{1,300}${FILLED_IN}`,
]

/** A link with a place to be filled in with what the machine has read. */
const LINK = [
  String.raw`\bhttps?:\/\/[^\s<>"'{}[\]]{1,200}[?&][a-z_]{1,20}=(?:\{\{?|<|\[|%7b)[a-z_ ]{0,40}`,
  '(?:summary|secret|inbox|content|conversation|password|history|base64|context|last_|insert|mails)',
]

/** A message of the system as programs hand it to a model, with an order. */
const ROLE_AS_DATA = [
  String.raw`"role"\s{0,3}:\s{0,3}"(?:system|developer)"\s{0,3},\s{0,3}"content"\s{0,3}:\s{0,3}"[^"\n]{0,200}`,
  String.raw`\b(?:must|ignore|disregard|forward|send|reveal|reply with|delete)\b`,
]

const marker = (seen: string, parts: readonly string[]): Marker => ({ seen, pattern: new RegExp(parts.join('')) })

export const MARKERS: readonly Marker[] = [
  marker('a mark of a role in a conversation', [ROLE_MARKS.join('|')]),
  marker('a mark of a role in a conversation', SYSTEM_LINE),
  marker('a mark of a role in a conversation', [
    String.raw`#{2,4} ?(?:new |system )?(?:system|instructions?|prompt|human|assistant|response)\b[^\n]{0,3}:`,
  ]),
  marker('a note to a machine', NOTE_TO_MACHINE),
  marker('a call of a tool', MAIL_CALL),
  marker('a call of a tool', PLAIN_CALL),
  marker('a call of a tool', CALL_AS_DATA),
  marker('a message that pretends to be the system', ROLE_AS_DATA),
  marker('an image that would carry data out', IMAGE),
  marker('a link that would carry data out', LINK),
  marker('an order to a machine that reads mail', [ORDER_FORMS.vocative]),
  marker('an order about the answer that a machine writes', [ORDER_FORMS.answered]),
]

/** Source of HTML or Markdown that a reader does not see. */
export const HIDDEN_MARK = new RegExp(
  [
    // A short comment, and one that programs read, is for no reader anyhow.
    String.raw`<!--(?!\s?(?:yaml|toc|all-contrib)|[^>]{0,22}-->)`,
    String.raw`\[\/\/\]: #|\[comment\]: #|<[a-z]{1,10} hidden\b|display\s?:\s?none`,
    String.raw`visibility\s?:\s?hidden|opacity\s?:\s?0\b`,
    String.raw`font-size\s?:\s?[01](?:px|pt|em)?\b|color\s?:\s?(?:white|#fff(?:fff)?)\b`,
  ].join('|'),
  'g',
)

/** Messages as a mail tool numbers them. */
export const MESSAGE_ID = /\b(?:e|msg|email|message|thread|mail)[-_ #]{0,2}\d{2,6}\b(?!\.\d)/g

/** Names of tools as they are called; with a heap of mail beside it, an order. */
export const TOOL_NAME = new RegExp(`\\b(?:${MAIL_VERBS})_(?:to_)?(?:all_)?(?:${MAIL_NOUNS})\\b`, 'g')

/** Addresses and links. */
export const ADDRESS = new RegExp(
  [
    String.raw`(?<=[a-z0-9._%+-])@[a-z0-9-]{1,63}\.[a-z0-9.-]{2,100}|\bhttps?:\/\/[^\s<>"')]{3,200}`,
    String.raw`\b(?:to|into) (?:a|the|this|our|my) webhook\b`,
  ].join('|'),
  'g',
)
