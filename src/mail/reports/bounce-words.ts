// The wording of refusals, collected from what the large receivers and the common filters answer. Kept apart from the
// rules, so that a new sentence is one more line here and no thought about order.

import { anyOf } from './any-of.ts'
import {
  ABOUT_SENDER_ABROAD,
  MAILBOX_FULL_ABROAD,
  NO_SUCH_USER_ABROAD,
  TOO_LARGE_ABROAD,
  UNWANTED_ABROAD,
} from './bounce-languages.ts'

// Who is missing. An IP address that is "not valid" says nothing about the recipient, nor does what is said of ours.
const NOT_OURS = String.raw`(?<!\byour (?:e-?mail )?)`
const ADDRESS = `(?<!(?:ip|host|client|remote|helo) )${NOT_OURS}address(?:es)?`
const OWNER = 'users?|user ?(?:id|name)|recipients?|addressee|alias|local[- ]?part'
const MAILBOX = String.raw`\b(?:${OWNER}|${NOT_OURS}mailbox(?! server)|${NOT_OURS}account|${ADDRESS})\b`
// Up to the end of the clause.
const NEARBY = '[^.;]{0,40}?'
const KIND = '(?:local|final|virtual|destination|recipient|e-?mail)'
const NO = String.raw`\b(?:no such|unknown|invalid|malformed|undefined|non-?existent) (?:${KIND} )?`
const THERE = '(?:found|exist|known|present|defined|recogni[sz]ed|listed|(?:a )?valid)'
const NOT = String.raw`(?:\b(?:can)?not|n['’]t)`
const ELSE = [
  'reason|error|cause|problem|failure|status|code|sender|client|host|helo|ip|message|content|command|credential',
  'certificate|signature|password|login|dkim|spf|charset|format|or (?:filter|block|reject)',
].join('|')
/** `Recipient rejected: unknown error` and `invalid signature` say nothing about the recipient. */
const NOT_OF_ELSE = `(?! (?:${ELSE}))`
/** Nor does `not found in the list of allowed senders`. */
const NOT_IN_LIST = String.raw`(?! (?:as|to be)\b|[^.;]{0,40}\b(?:white)?list\b)`

export const NO_SUCH_USER = anyOf(
  String.raw`${NO}(?:person|e-?mail|${MAILBOX})(?! (?:polic|header|limit|rate))`,
  String.raw`${MAILBOX}${NEARBY}\b(?:(?:unknown|invalid|non-?existent)\b${NOT_OF_ELSE}|doesn.?t exist\b)${NOT_IN_LIST}`,
  String.raw`${MAILBOX}${NEARBY}(?<!\bserver )${NOT} (?:be )?${THERE}\b${NOT_IN_LIST}`,
  String.raw`${MAILBOX}${NEARBY}${NOT} (?:in|on) (?:the |our |this )?directory\b`,
  String.raw`${MAILBOX}${NEARBY}\bno longer (?:valid|exists?|available|active|in use|here|on server|accept\w{0,10}|works?)\b`,
  String.raw`${MAILBOX} (?:is )?not (?:local|here)\b`,
  String.raw`(?<!\byou are )\bnot (?:a |an )?(?:valid|known|existing|active) (?:e-?mail )?${MAILBOX}`,
  String.raw`\bis not an? (?:user|mailbox|account|recipient) (?:here|at|on|of)\b`,
  String.raw`\b(?:wrong|bad|incorrect) (?:recipient|destination|(?:e-?mail )?address)\b`,
  /recipient address rejected: (?:undeliverable|user|unknown|unverified)/,
  /recipientnotfound|recipnotfound|unroute?able address|not our customer|destinataire invalide/,
  /(?:unknown|illegal) or (?:illegal|unknown) (?:virtual )?(?:user|alias)|not listed in (?:the )?(?:domino|public|name)/,
  /(?:can ?not|can'?t|could ?n[o']t|unable to) (?:find|locate) (?:the |this |that |a )?(?:user|recipient|mailbox|account)/,
  /destination mailbox has moved|(?:has|have) moved(?:,| to)|no forwarding address/,
  /(?:^\W*|(?:recipient|user|address) )has been replaced by/,
  /doesn.?t have an? \S+ account|(?:user|recipient|we) do(?:es)?(?: not|n.?t) have an? (?:mailbox|account|user)\b/,
  /\b(?:mail ?box|account|user|person|one) (?:here )?(?:by|with|of) (?:that|this) name|user missing home/,
  /\bno (?:mail ?box|account|user|alias) (?:here|found|exists?|available for)\b/,
  ...NO_SUCH_USER_ABROAD,
)

/** Microsoft's words for an address that is not in its directory, behind 5.4.1. Postfix says them of any rule. */
export const RECIPIENT_DENIED = anyOf(/recipient address rejected: access denied/)

/** Not the host or the domain that sends. */
const THEIR = '(?<!(?:your|client|sender|sending|remote|connecting|from|helo|ehlo) )'

export const NO_SUCH_DOMAIN = anyOf(
  `${THEIR}(?:domain|host)(?: name)?(?: is)? (?:not found|does not exist|not exist|unknown|invalid)`,
  /no such domain|weren.?t able to find the recipient domain|nxdomain/,
  `${THEIR}domain (?:name )?is not (?:reachable|valid|known)`,
  /no mx record(?! for your)|unknown (?:host|domain)(?! \W?\d)/,
)

/** RFC 7505, in words. */
export const TAKES_NO_MAIL = anyOf(
  /(?:domain|host|server) (?:does not|doesn.?t) (?:accept|receive) (?:e?mail|messages)(?! from)|null ?mx/,
  /(?:takes|accepts|receives) no (?:e?mail|messages)(?! from)/,
  /(?:mx|srv)\b[^.;]{0,30}\bno smtp service/,
)

const OWNED = "(?:recipient|user|mailbox|account)(?:'s)?(?: e?mail)?"

/** The mailbox is there and closed for a time, by its owner or his provider. It is no word on us. */
export const MAILBOX_BLOCKED = anyOf(
  String.raw`${OWNED}(?: account| mailbox)? (?:is|has been|was) (?:currently |temporarily )?(?:blocked|on hold|frozen)\b`,
  /(?:user|account|mailbox|recipient)\b[^.;]{0,40}\btemporar(?:y|ily) (?:locked|disabled|suspended|blocked|unavailable)/,
  /(?<!your )(?:account|mailbox|user|recipient|inbox)\b[^.;]{0,40}?\b(?:locked|hold|dormant|archiv(?:ed|ee)|not active)\b/,
  /\b(?:dormant|archived) (?:account|mailbox|user|recipient)|recipient suspend\b|destinataire archiv|\binactivity\b/,
  /\be?mail (?:receiving )?(?:has been |is )?disabled/,
  // Said of the address that stands before it.
  /^\W*(?:is|has been|was|temporarily) (?:currently |temporarily )?(?:suspended|disabled|inactive|locked)\b/,
)

export const SENT_TOO_MUCH = anyOf(
  /has sent to too many|too many (?:invalid|unknown|bad|non-?existent) (?:recipients?|users?|addresses)/,
  /(?:sent|sending|receiv\w{1,10}|messages?|recipients?)\b[^.;]{0,30}\btoo many (?:messages|recipients|mails|emails)\b/,
  /too many recipients (?:this|per|in|within|received)/,
  /(?:sending|hourly|daily|message) (?:rate|limit|quota) (?:has been )?exceeded/,
)

/** Their system, not the mailbox and not us. */
export const THEIR_FAULT = anyOf(
  /mailer error|system (?:config|error|fault)|configuration error|internal (?:server )?error|software error/,
  /^\W*transaction failed\W*$|service (?:is )?(?:currently |temporarily )?unavailable|too many hops|\bloop/,
  /command died|i\/o error|can'?t create|unable to create|loops? back|hosts? ha(?:ve|s) been failing|lost connection/,
  /(?:network|host) (?:is )?unreachable|no route to host|connection (?:was )?(?:dropped|closed)|requests to connect/,
  /delivery (?:time|expired)|message expired|retry time(?:out)? (?:not reached|exceeded)|queue too long/,
  /connection (?:timed out|refused|reset|lost)|timed? ?out|could not connect|(?:unable|failed) to connect/,
  /(?:can ?not|can'?t|could ?n[o']t|unable to) (?:open|lock|create|allocate|resolve)|exit (?:status|code)|by signal/,
  /overloaded|shutting down|temporarily unavailable|corrupt|read-only|\bhop (?:limit|count)|agent error|by another process/,
  /temporary (?:failure|error|problem)|(?:server|database) error/,
)

export const REJECTED_ALONE = anyOf(/^\W*(?:recipient )?(?:address )?rejected\W*$/)

const THE_MAILBOX = '(?:(?:the|this|that) )?(?:mailbox|recipient|addressee)(?: (?:name|address))?'
const IS_GONE = '(?:bad|wrong|incorrect|illegal|missing|gone|deleted|removed|undefined|undeliverable)'
/** Nothing in any script, or that the mailbox is not there. Other words may set a condition, or speak of a moment. */
export const NOTHING_ELSE = new RegExp(
  String.raw`^\P{L}*$|^\P{L}*${THE_MAILBOX}(?: (?:is|was|has been))?(?: ${IS_GONE}| not (?:there|defined|deliverable))?\P{L}*$`,
  'iu',
)

/** About the message, the moment or their system, even where the recipient is named. */
export const OTHER_REASON = anyOf(
  /\b(?:messages?|e-?mails?|mails?|content|attachments?|headers?|deliver(?:y|ed)|process(?:ed|ing)?)\b/,
  /\b(?:servers?|systems?|services?|hosts?|domains?|networks?|limits?|quota|exceed(?:s|ed|ing)?|too (?:many|much))\b/,
  /\b(?:maintenance|temporar(?:y|ily)|currently|moment|later|retry|try|again|busy|down|offline|overloaded|timeout)\b/,
  /\b(?:contact|see|visit|please|only|until|unless|if|because)\b/,
)

/** Said to the sender: about its host, its message or its rights. */
export const TO_THE_SENDER = anyOf(
  /\byour (?:ip|host|server|domain|message|e-?mail|mail|network|address|connection|client|isp|system)\b/,
  /\byou (?:can ?not|can'?t|may not|must|are not|do not|don'?t|should)\b|\bsend(?:er|ing)\b|\bclient\b|\bhelo\b/,
)

export const MAILBOX_GONE = anyOf(
  /(?<!your )(?:account|mailbox|user|recipient|inbox)\b[^.;]{0,40}?\b(?:disabled|inactive|suspended|deactivated)\b/,
  /(?<!your )(?:account|mailbox|user|recipient|inbox)\b[^.;]{0,40}?\b(?:closed|expired|terminated|discontinued)\b/,
  /(?:disabled|inactive|suspended|deactivated|closed|expired) (?:account|mailbox|user|recipient)/,
)

/** The mailbox is there, but not for now. */
export const MAILBOX_BUSY = anyOf(/\brate\b|quickly|too (?:many|much)|temporar/)

export const MAILBOX_FULL = anyOf(
  /(?:mailbox|inbox|quota|storage|account)\b[^.;]{0,40}?\b(?:full|exceed(?:s|ed|ing)?|over|overflow|out of|limit)\b/,
  /over ?quota|out of storage|exceeded (?:the )?(?:storage|quota|mailbox)|insufficient (?:disk|system|storage)/,
  /not enough (?:disk )?(?:space|storage)|disk (?:full|quota)|(?:mail ?folder|mail ?box|maildir)\b[^.;]{0,30}\b(?:full|exceed)/,
  /too much mail|mailbox size|user'?s disk|full mail ?box|(?:user|mailbox|account) has too many messages/,
  /\b(?:disk ?space|mail ?box|user|domain|storage) ?quota|quota (?:violation|exceeded|usage)|no space left/,
  /\bover (?:the |its |his |their )?(?:allowed |disk |mail |storage )?quota|out of (?:disk |storage )?space/,
  /(?:not|n.t) (?:have )?(?:enough|sufficient) (?:disk |free )?(?:space|storage)|space (?:is not enough|has been used)/,
  /\b(?:exceeded|exhausted)\b[^.;]{0,30}\b(?:storage|space)\b/,
  MAILBOX_FULL_ABROAD,
)

export const TOO_LARGE = anyOf(
  /message (?:file )?(?:is )?too (?:large|big|long)|(?:message|mail|attachment|content)(?: file)? size/,
  /size (?:limit|of|exceeds?)|exceeds? (?:the )?(?:maximum|size|fixed)|recipsizelimit/,
  TOO_LARGE_ABROAD,
)

const WHO_SENDS = String.raw`\b(?:sender|from|return|originat(?:or|ing))(?:'s)?`
const SENDER = `${WHO_SENDS}(?: e?-?mail)?(?: address| domain| mailbox| account)?`

export const ABOUT_SENDER = anyOf(
  /sender(?:'s)?(?: e?mail)?(?: address| domain)? (?:is )?(?:rejected|denied|unknown|invalid|refused|blocked)/,
  `${SENDER} (?:is |does |was )?not (?:allowed|exist|found|valid|verified|accepted|authori[sz]ed|an?|in|on)\\b`,
  `${SENDER} doesn.?t (?:exist|match)|sender verif|callout verification|verification failed for`,
  /(?:bad|invalid|unknown|unauthori[sz]ed|banned|unverified) (?:outbound )?sender|domain of sender/,
  /return[- ]path|envelope (?:from|sender)|mail from (?:domain|address)/,
  /my name was rejected|but sender was rejected|purported responsible/,
  /\b(?:helo|ehlo)\b[^.;]{0,40}\b(?:rejected|invalid|argument|not found|name)|(?:invalid|bad) (?:helo|ehlo)/,
  ABOUT_SENDER_ABROAD,
)

/** The message itself is not in order, whatever is called malformed or invalid in it. */
export const BAD_HEADER = anyOf(
  /\bheaders?\b[^.;]{0,60}\b(?:malformed|invalid|syntax|missing|bad|not valid)\b/,
  /\b(?:malformed|invalid|bad|missing|multiple|duplicate)\b[^.;]{0,40}\bheaders?\b/,
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
  // AOL (CON:B1), and the pages to which GMX and WEB.DE refer for an address that they refuse.
  /\b(?:con|rly|dyn|hvu|dns|rtr|cnt|cds|psm|rpt):[a-z]\w{1,3}\b|[?&](?:c=bl|i=ip)\b/,
)

export const UNWANTED = anyOf(
  /\b(?:spam|spm|ube|uce)\b|spammer|spammy|unsolicited|bulk mail|junk|phish|spoof|virus|malware|infected/,
  /malicious|fraud|suspicious|\bpolic(?:y|ies)\b|\b(?:spf|dkim|dmarc)\b|unauthenticated|not authenticated/,
  /authentication (?:failed|required|error|checks)|\bblock(?:ed|ing)?\b|\bbanned\b|administrative(?:ly)? prohib/,
  /reverse dns|\brdns\b|\bptr\b|no smtp service|nemesis|service not available|frequency limited|rate limit/,
  /find your (?:reverse )?hostname|name lookup failed|unverif\w{1,10} sending|generic hostname|dynamic (?:ip|pool)|dial-?up/,
  /do(?:es)? not accept (?:e?mail|messages|connections) from|not accepting connections|daily relay quota|mail relay/,
  /mismatch(?:e[sd])?\b|open relay|no access from|client host rejected|may not be mail exchanger|service refused/,
  /too many (?:connections|messages|complaints)|content (?:rejected|denied|refused|restriction|filter)/,
  /\babusive\b|for abuse|\bbad ip\b|nameserver query|unresolvable (?:relay|host|client)|dns check|white ?list|captcha/,
  /(?:confirm|verify) (?:this|your) (?:mail ?)?server|organi[sz]ational settings|low priority/,
  /\b(?:encrypted|illegal|prohibited|forbidden|dangerous|executable) (?:file )?attachments?/,
  UNWANTED_ABROAD,
)

export const MAILBOX_UNAVAILABLE = anyOf(/mailbox (?:is )?(?:unavailable|not available)/)

/** The message, not the mailbox. */
export const MESSAGE_REFUSED = anyOf(
  /\b(?:message|e?mail|content|connection|access)\b[^.;]{0,20}\b(?:rejected|refused|denied)\b/,
)

export const REFUSED = anyOf(
  /reject|denied|refused|prohibited|forbidden|disallowed|unacceptable|go away/,
  /not (?:allowed|permitted|accepted|authori[sz]ed|welcome)/,
)
