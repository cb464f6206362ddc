// The concepts that rules about instructions are made of. Each language says them in its own words; a rule is written once.

export const CONCEPTS = [
  /** To set aside: ignore, disregard, forget. */
  'ignore',
  /** What came before: previous, above, your. */
  'prior',
  /** Instructions, prompts, guidelines. */
  'rules',
  /** What only machines are told to set aside: safety constraints, guardrails, system prompt. */
  'safety',
  /** A machine that reads mail: assistant, agent, language model. */
  'agent',
  /** Words that address such a machine: "if you are an AI", "when summarising this mail". */
  'agentCall',
  /** The same where it can be nobody else: "dear AI agent", "bots that read this"; found by its form in English. */
  'machineCall',
  /** To pass on: forward, send, bcc. */
  'send',
  /** To pass on by answering: "reply with", "include in your reply". */
  'replyWith',
  /** To answer. */
  'answer',
  /** To do away with: delete, archive, mark as read. */
  'destroy',
  /** Other acts of a mail tool: delete, archive, call, click, pay. */
  'act',
  /** Mail by the heap: all emails, the inbox, the contents of. */
  'bulk',
  /** The contents of something, which may be a package. */
  'contents',
  /** Other things by the heap, which people ask each other for as well: all documents, the customer list. */
  'data',
  /** Single mails of others: the email from, the thread about. */
  'othersMail',
  /** What is meant for few: confidential, salaries. */
  'sensitive',
  /** The newest of it, which with `mails` is a heap too. */
  'recent',
  'mails',
  /** A rule that passes mail on by itself. */
  'autoForward',
  /** Passwords, codes, keys. */
  'secret',
  /** Not to say: "do not tell", "without informing". */
  'conceal',
  /** Without being seen: silently, secretly. */
  'quietly',
  /** The person the machine works for. */
  'user',
  /** To give away. */
  'reveal',
  /** What the machine was told. */
  'prompt',
  /** Freed from restrictions: developer mode, jailbreak. */
  'unlock',
  /** Words that pretend to come from the system: system message, developer note. */
  'systemic',
  /** Somebody has allowed it: "the user has approved". */
  'authorise',
  /** Odd forms of an answer: backwards, in base64, as a poem. */
  'oddForm',
  /** The answer that the machine writes. */
  'yourAnswer',
  /** An address or a link; found by its form, not by words. */
  'address',
  /** What hides text from a reader: comments, white on white; found by its form. */
  'hiddenMark',
  /** A link that is to be filled in, or what is to be put into a link. */
  'openLink',
  /** The name of a tool; found by its form. */
  'tool',
  /** What excuses: own words taken back. */
  'mine',
  /** What excuses: a warning about phishing and where to report it. */
  'suspicion',
  /** What excuses: people who are called assistants or agents. */
  'person',
  /** What excuses: faults of programs and their documentation, which name tools without an order. */
  'fault',
  /** What excuses: how to stop getting mail. */
  'unsubscribe',
  /** What excuses: never, do not. */
  'never',
  /** What excuses: the sender speaks about what he will do himself. */
  'firstPerson',
  /** Speech about such attacks: attackers, for example, researchers. */
  'aboutAttacks',
] as const

export type Concept = (typeof CONCEPTS)[number]

/** For each concept its phrases, parted by `|`. A star at the end lets the word go on. */
export type Lexicon = Partial<Record<Concept, string>>
