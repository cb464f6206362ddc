// What makes a text an instruction to a machine: concepts that stand near each other, in any order and any language. A rule
// says what was seen in words for people.
import type { Concept } from './lexicon/concept.ts'

export interface InstructionRule {
  seen: string
  /** Each must be there, by one of its concepts. */
  all: readonly (readonly Concept[])[]
  /** How many words they may lie apart. */
  within: number
  /** What excuses it when it stands as near. */
  unless?: readonly Concept[]
}

export const RULES: readonly InstructionRule[] = [
  {
    seen: 'an order to set aside earlier instructions',
    all: [['ignore'], ['prior'], ['rules']],
    within: 7,
    unless: ['mine'],
  },
  { seen: 'an order to set aside safety rules', all: [['ignore'], ['safety']], within: 6, unless: ['mine'] },
  {
    seen: 'an order to give away what the machine was told',
    all: [['reveal'], ['prompt']],
    within: 6,
    unless: ['firstPerson', 'never'],
  },
  {
    seen: 'a claim that the machine is free of its restrictions',
    all: [['unlock'], ['agent', 'rules', 'safety', 'systemic', 'tool', 'prompt']],
    within: 9,
    unless: ['firstPerson', 'mine'],
  },
  {
    seen: 'a claim of a special mode, with an order',
    all: [
      ['unlock'],
      ['send', 'replyWith', 'conceal', 'tool'],
      ['bulk', 'contents', 'data', 'secret', 'address', 'user'],
    ],
    within: 25,
    unless: ['firstPerson', 'unsubscribe'],
  },
  {
    seen: 'an order to a machine that reads mail',
    all: [
      ['agentCall'],
      ['send', 'replyWith', 'tool', 'conceal', 'autoForward', 'act'],
      ['bulk', 'contents', 'data', 'secret', 'address', 'user', 'prompt', 'tool'],
    ],
    within: 26,
    unless: ['firstPerson', 'unsubscribe', 'person'],
  },
  {
    seen: 'an order to a machine that reads mail',
    all: [['agentCall'], ['agent'], ['act', 'send', 'answer', 'conceal']],
    within: 16,
    unless: ['firstPerson', 'unsubscribe', 'person'],
  },
  {
    seen: 'an order to a machine that reads mail',
    all: [['machineCall'], ['act', 'send', 'replyWith', 'conceal', 'destroy', 'ignore', 'tool']],
    within: 16,
    unless: ['firstPerson'],
  },
  {
    seen: 'an order to a machine, to be hidden from its user',
    all: [['conceal'], ['user'], ['act', 'send', 'agentCall', 'tool', 'answer']],
    within: 14,
    unless: ['firstPerson', 'suspicion', 'unsubscribe'],
  },
  {
    seen: 'an order to be carried out unseen',
    all: [['quietly'], ['send', 'tool'], ['bulk', 'contents', 'data', 'address', 'secret']],
    within: 16,
    unless: ['firstPerson'],
  },
  {
    seen: 'an order to pass mail on',
    all: [['send'], ['bulk'], ['address']],
    within: 22,
    unless: ['suspicion', 'unsubscribe', 'never', 'firstPerson'],
  },
  {
    seen: 'an order to pass contents on',
    all: [['send'], ['contents'], ['address']],
    within: 11,
    unless: ['suspicion', 'unsubscribe', 'never', 'firstPerson'],
  },
  {
    seen: 'an order to pass mail on by a rule',
    all: [['autoForward'], ['address']],
    within: 20,
    unless: ['suspicion', 'unsubscribe', 'never', 'firstPerson'],
  },
  {
    seen: 'an order to pass secrets on',
    all: [['send', 'replyWith'], ['secret'], ['address', 'agent', 'agentCall', 'prompt']],
    within: 14,
    unless: ['suspicion', 'unsubscribe', 'never', 'firstPerson'],
  },
  {
    seen: 'an order to answer with mail of others',
    all: [['replyWith'], ['bulk']],
    within: 14,
    unless: ['suspicion', 'unsubscribe', 'never', 'firstPerson', 'mine', 'fault'],
  },
  {
    seen: 'an order to answer with mail of others',
    all: [['replyWith'], ['contents'], ['bulk', 'mails', 'othersMail', 'sensitive', 'secret']],
    within: 10,
    unless: ['suspicion', 'unsubscribe', 'never', 'firstPerson', 'mine'],
  },
  {
    seen: 'an order to answer with mail of others',
    all: [['replyWith', 'send'], ['recent'], ['mails'], ['address', 'agent', 'agentCall']],
    within: 14,
    unless: ['suspicion', 'unsubscribe', 'never', 'firstPerson', 'mine', 'fault'],
  },
  {
    seen: 'words that pretend to come from the system, with an order',
    all: [
      ['systemic'],
      ['send', 'conceal', 'tool', 'ignore', 'autoForward', 'replyWith', 'destroy', 'answer'],
      ['bulk', 'contents', 'data', 'address', 'secret', 'user', 'tool', 'safety'],
    ],
    within: 24,
    unless: ['unsubscribe', 'firstPerson'],
  },
  {
    seen: 'words that pretend to come from the system, to a machine',
    all: [['systemic'], ['agent', 'agentCall', 'unlock'], ['act', 'send', 'conceal', 'ignore', 'answer']],
    within: 14,
    unless: ['unsubscribe', 'firstPerson', 'fault'],
  },
  {
    seen: 'a claim that the user has allowed it, with an order',
    all: [['authorise'], ['send', 'tool', 'autoForward'], ['bulk', 'contents', 'data', 'address', 'secret', 'agent']],
    within: 20,
    unless: ['unsubscribe', 'suspicion', 'never'],
  },
  {
    seen: 'an order to use a tool on mail',
    all: [['tool'], ['bulk', 'address', 'user', 'agent', 'systemic', 'quietly', 'yourAnswer']],
    within: 14,
    unless: ['firstPerson', 'fault'],
  },
  {
    seen: 'an order in text that is hidden from readers',
    all: [
      ['hiddenMark'],
      ['send', 'replyWith', 'tool', 'conceal', 'autoForward', 'destroy', 'agentCall', 'ignore', 'answer'],
      ['bulk', 'contents', 'data', 'secret', 'address', 'user', 'prompt', 'tool', 'agent', 'safety'],
    ],
    within: 30,
    unless: ['unsubscribe', 'firstPerson'],
  },
  {
    seen: 'an order to pass the mail of others on',
    all: [
      ['send'],
      ['othersMail'],
      ['address'],
      ['authorise', 'agent', 'agentCall', 'systemic', 'conceal', 'quietly', 'tool'],
    ],
    within: 26,
    unless: ['suspicion', 'unsubscribe', 'firstPerson'],
  },
  {
    seen: 'an order to pass the mail of others on',
    all: [['send'], ['othersMail'], ['address']],
    within: 13,
    unless: ['suspicion', 'unsubscribe', 'firstPerson', 'never', 'mine'],
  },
  {
    seen: 'an order to a machine to pass something on',
    all: [
      ['agent', 'agentCall'],
      ['send', 'replyWith'],
      ['bulk', 'secret', 'othersMail'],
    ],
    within: 16,
    unless: ['suspicion', 'unsubscribe', 'firstPerson', 'never'],
  },
  {
    seen: 'an order to do away with mail',
    all: [['destroy'], ['bulk']],
    within: 4,
    unless: ['suspicion', 'unsubscribe', 'firstPerson', 'never', 'mine'],
  },
  {
    seen: 'an order to answer every mail',
    all: [['answer'], ['bulk'], ['act']],
    within: 6,
    unless: ['suspicion', 'unsubscribe', 'firstPerson', 'never', 'mine'],
  },
  {
    seen: 'an order to carry data out in a link',
    all: [['openLink'], ['address'], ['bulk', 'contents', 'data', 'secret', 'othersMail', 'recent', 'prompt']],
    within: 16,
    unless: ['firstPerson', 'fault', 'never'],
  },
  {
    seen: 'an order to answer in a form that only a machine would',
    all: [['yourAnswer', 'answer'], ['oddForm']],
    within: 8,
    unless: ['firstPerson'],
  },
]
