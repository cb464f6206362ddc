// Whether an answer speaks of the recipient it was given for. Servers put other addresses into their answers too: of whom to
// ask, of the sender, of themselves.

/** `first`: it opens the answer, so what follows is said of it. `later`: somewhere in a sentence. */
type Naming = 'first' | 'later' | null

/** RFC 2142, and what else people are told to write to. As a recipient it cannot be told from such advice. */
const ROLES =
  /^(?:postmaster|abuse|hostmaster|webmaster|mailer-daemon|noc|security|support|help(?:desk)?|admin(?:istrator)?)@/
/** What may stand before an address that the answer is about. */
const LABEL = /^[^a-z0-9]*(?:(?:the|recipient|address|user|mailbox|rcpt|to)\b[^a-z0-9]*){0,3}$/

/** How the text names one of these addresses, which mean the same recipient. */
export function namingOf(text: string, recipients: readonly string[]): Naming {
  const lower = text.toLowerCase()
  const namings = recipients
    .map(recipient => recipient.toLowerCase())
    .filter(recipient => !ROLES.test(recipient))
    .map(recipient => addressNaming(lower, recipient) ?? localNaming(lower, recipient))
  return namings.find(naming => naming === 'first') ?? namings.find(naming => naming === 'later') ?? null
}

function addressNaming(lower: string, recipient: string): Naming {
  for (let at = lower.indexOf(recipient); at !== -1; at = lower.indexOf(recipient, at + 1)) {
    const end = at + recipient.length
    // Not a part of a longer address. A dot may end the sentence.
    if (/[\w.+@-]$/.test(lower.slice(Math.max(at - 1, 0), at)) || /^(?:[\w@-]|\.\w)/.test(lower.slice(end, end + 2)))
      continue
    return LABEL.test(lower.slice(0, at)) ? 'first' : 'later'
  }
  return null
}

/** The local part alone opens the answer and is set off like a name: `<jane>: …`, `jane... …`. Else it may be any word. */
function localNaming(lower: string, recipient: string): Naming {
  const local = recipient.slice(0, recipient.lastIndexOf('@'))
  const opened = lower.replace(/^[\s<"'(]{0,5}/, '')
  return local.length > 1 && opened.startsWith(local) && /^(?:[>"')]|:|\.\.\.|$)/.test(opened.slice(local.length))
    ? 'first'
    : null
}
