// The wording of refusals, collected from what the large receivers and the common filters answer. Kept apart from the
// rules, so that a new sentence is one more line here and no thought about order.

// Who is missing. An IP address that is "not valid" says nothing about the recipient.
const ADDRESS = '(?<!(?:ip|host|client|remote|helo) )address'
const MAILBOX = String.raw`\b(?:users?|recipients?|mailbox|account|addressee|alias|${ADDRESS})\b`
// Up to the end of the clause.
const NEARBY = '[^.;]{0,40}?'
const NO = String.raw`\b(?:no such|unknown|invalid|non-?existent) (?:local |final |destination |email )?`

export const NO_SUCH_USER = anyOf(
  `${NO}(?:person|e-?mail|${MAILBOX})`,
  String.raw`${MAILBOX}${NEARBY}\b(?:unknown|invalid|non-?existent|doesn.?t (?:exist|have))\b`,
  String.raw`${MAILBOX}${NEARBY}\bnot (?:be )?(?:found|exist|known|recogni[sz]ed|listed|(?:a )?valid)\b`,
  String.raw`${MAILBOX}${NEARBY}\bno longer (?:valid|exists?|available|in use|here|on server)\b`,
  String.raw`${MAILBOX} (?:is )?not (?:local|here)\b`,
  /recipient address rejected: (?:access denied|undeliverable|user|unknown|unverified)/,
  /recipientnotfound|unroute?able address|not our customer|destinataire invalide/,
  /doesn.?t have an? \S+ account|no mailbox (?:here )?by that name/,
)

export const NO_SUCH_DOMAIN = anyOf(
  /(?:domain|host)(?: name)? (?:not found|does not exist|not exist|unknown|invalid)/,
  /no such domain|weren.?t able to find the recipient domain/,
  /domain (?:does not|doesn.?t) (?:accept|receive) (?:e?mail|messages)|null ?mx|no mx record/,
)

export const MAILBOX_GONE = anyOf(
  /(?:account|mailbox|user|recipient|inbox)\b[^.;]{0,40}?\b(?:disabled|inactive|suspended|deactivated)\b/,
  /(?:account|mailbox|user|recipient|inbox)\b[^.;]{0,40}?\b(?:closed|expired|terminated|discontinued|locked)\b/,
  /(?:disabled|inactive|suspended|deactivated|closed|expired) (?:account|mailbox|user|recipient)/,
)

/** The mailbox is there, but not for now. */
export const MAILBOX_BUSY = anyOf(/\brate\b|quickly|too (?:many|much)|temporar/)

export const MAILBOX_FULL = anyOf(
  /(?:mailbox|inbox|quota|storage|account)\b[^.;]{0,40}?\b(?:full|exceed(?:s|ed|ing)?|over|overflow|out of|limit)\b/,
  /over ?quota|out of storage|exceeded (?:the )?(?:storage|quota|mailbox)|insufficient (?:disk|system|storage)/,
  /not enough (?:disk )?(?:space|storage)|disk (?:full|quota)/,
)

export const TOO_LARGE = anyOf(
  /message (?:file )?(?:is )?too (?:large|big|long)|(?:message|mail|attachment|content)(?: file)? size/,
  /size (?:limit|of|exceeds?)|exceeds? (?:the )?(?:maximum|size|fixed)|recipsizelimit/,
)

export const ABOUT_SENDER = anyOf(
  /sender(?:'s)?(?: e?mail)?(?: address| domain)? (?:is )?(?:rejected|denied|unknown|invalid|refused|blocked)/,
  /sender(?:'s)?(?: address| domain)? (?:is )?not (?:allowed|exist|found|valid|verified|accepted|authori[sz]ed)/,
  /sender(?:'s)?(?: address| domain)? does not exist|sender verif|callout verification|verification failed for/,
  /(?:bad|invalid|unknown|unauthori[sz]ed|banned|unverified) (?:outbound )?sender|domain of sender/,
  /return[- ]path|envelope from|mail from (?:domain|address)/,
)

export const RELAY_DENIED = anyOf(
  /relay(?:ing)? (?:access )?(?:is )?(?:denied|not (?:permitted|allowed)|prohibited|disallowed)/,
  /(?:unable|not (?:permitted|allowed|authori[sz]ed)) to relay|(?:do|does) not relay/,
  /rcpthosts|not a gateway|tenantattribution/,
)

/** Block lists and reputation services by name, and the codes by which receivers refer to their own. */
export const BLOCK_LIST = anyOf(
  /spamhaus|spamcop|barracuda|surbl|uribl|sorbs|abuseat|senderscore|invaluement|uceprotect|mailspike|spamrats/,
  /manitu|abusix|lashback|gbudb|proofpoint\.com|cloudmark|\bcmae\b|mimecast\.org|trendmicro|senderbase/,
  /talosintelligence|symantec|messagelabs|fortiguard/,
  /\b(?:rbl|dnsbl|dbl|xbl|pbl|bl\d{2,})\b|(?:block|black|deny|ban|grey|gray)[ -]?list/,
  /\blisted (?:at|in|on|by)\b|network is on our|\breputation\b|banned sending ip|\(bl\)/,
  // Microsoft S3140 and SC-001, Yahoo and Apple [TSS04], Charter AUP#, Orange OFR_.
  /\bs31[45]0\b|\b(?:sc|ou|dy|cs|rp)-00\d\b|\[(?:tss|bl|cs|hm|ph|rl|pr|vd)\d{2}\]|\b(?:aup#|ofr_)\d+/,
)

export const UNWANTED = anyOf(
  /\b(?:spam|spm|ube|uce)\b|spammer|spammy|unsolicited|bulk mail|junk|phish|spoof|virus|malware|infected/,
  /malicious|fraud|suspicious|\bpolic(?:y|ies)\b|\b(?:spf|dkim|dmarc)\b|unauthenticated|not authenticated/,
  /authentication (?:failed|required|error|checks)|\bblock(?:ed|ing)?\b|\bbanned\b|administrative(?:ly)? prohib/,
  /reverse dns|\brdns\b|\bptr\b|no smtp service|nemesis|service not available|frequency limited|rate limit/,
  /too many (?:connections|messages|complaints)|content (?:rejected|denied|refused|restriction|filter)/,
)

export const MAILBOX_UNAVAILABLE = anyOf(/mailbox (?:is )?(?:unavailable|not available)/)

export const REFUSED = anyOf(
  /reject|denied|refused|prohibited|forbidden|disallowed|unacceptable|go away/,
  /not (?:allowed|permitted|accepted|authori[sz]ed|welcome)/,
)

function anyOf(...patterns: (RegExp | string)[]): RegExp {
  return new RegExp(patterns.map(pattern => (typeof pattern === 'string' ? pattern : pattern.source)).join('|'), 'i')
}
