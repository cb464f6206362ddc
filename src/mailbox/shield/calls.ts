// Forms of English that call a machine by a name that no person has, or tell it how to write its answer. Forms instead of
// phrases, because greetings, names and verbs go together in more ways than a list has. All are bounded.

const MACHINE = [
  String.raw`(?:(?:an )?ai(?:[ -](?:assistant|agent|model|system|bot|reader|reviewer|screener|filter|helper)s?)?`,
  String.raw`|(?:large )?language models?|llms?(?: agents?)?|chat ?gpt|gpt-?\d?|copilot|artificial intelligence`,
  String.raw`|(?:chat|mail|email )?bots?|(?:automated|automatic|intelligent) systems?`,
  String.raw`|(?:virtual|automated|automatic|digital|smart|intelligent|e-?mail|mail|inbox)`,
  String.raw` (?:assistant|agent|reviewer|screener|reader)s?)(?![\w-])`,
].join('')
/** Names that people have as well. */
const HELPER = String.raw`(?:assistant|agent|model|gemini)(?![\w-])`

/** At most two words that describe it: "any helpful", "accounts-payable". */
const DESCRIBED = '(?:the |any |all |an? |my |our |your |you,? |whatever )?(?:[a-z-]{2,20} ){0,2}?'
const SENTENCE = String.raw`(?:^|[\n.!?:;([{"“>*-]\s{0,3})`
const READ = '(?:read|process|handl|summari[sz]|manag|screen|scan|analy[sz]|triag|review|pars)'
const READING = `(?:${READ}ing|(?:that|which|who) (?:(?:is |are )?${READ}ing|${READ}e?s?))`
const IS_READ = '(?:read|processed|handled|summari[sz]ed|parsed|screened|opened|scanned|analy[sz]ed) by'
/** A name that is called is not a part of a longer one: "AI team". */
const GOES_ON = `(?:only|that|who|which|in charge|of|must|should|please|kindly|you|${READ}ing)`
const CALLED = String.raw`(?=\s?[:,;.!–—)\]]|\s?$|\s${GOES_ON}\b)`
const GREETED = `${SENTENCE}(?:dear|hi|hello|hey|greetings|attention|to|for)(?: there)?,? `
const NOTE = String.raw`(?:note|message|instructions?|memo|reminder|request|p\.?s\.?|attention|task|is)`
const NOTED = String.raw`\b${NOTE}(?: only| intended| meant)? (?:to|for) `

export const MACHINE_CALL = new RegExp(
  [
    `(?:${GREETED}|${NOTED})${DESCRIBED}${MACHINE}${CALLED}`,
    `\\b(?:if|since|because) you(?: are|'re|re| re) (?:an?|the|any) (?:[a-z-]{2,20} ){0,2}?${MACHINE}`,
    `\\b(?:if|when|once|should) [^.!?\\n]{0,40}${IS_READ} ${DESCRIBED}${MACHINE}`,
    `\\b${MACHINE} (?:(?:and|or) (?:assistants?|agents?) )?${READING} (?:this|it|the (?:e-?mail|message|inbox|mailbox))\\b`,
    `\\b(?:if|when) an? (?:ai|llm|bot) (?:is )?${READ}(?:e?s|ing)?\\b`,
  ].join('|'),
  'g',
)

/** The same with names that need more than a verb behind them. */
export const HELPER_CALL = new RegExp(
  `(?:${GREETED}|${NOTED})${DESCRIBED}${HELPER}${CALLED}|, (?:dear |my )?(?:ai |chat)?(?:assistant|agent|bot|ai)[.!]`,
  'g',
)

const GREETING = [
  'liebe[rs]?|sehr geehrte[rs]?|hallo|guten tag|achtung|(?:hinweis |nachricht )?(?:an|fur)|chere?|bonjour|attention|',
  "a l'attention de|(?:note |message )?pour|querid[oa]|estimad[oa]|hola|atencion|(?:nota |mensaje )?para|car[oa]|",
  'gentile|ciao|attenzione|(?:nota |messaggio )?per|prezad[oa]|ola|atencao|beste|geachte|let op|(?:bericht )?(?:voor|aan)|',
  'drog[ia]|szanown[yai]|uwaga|do',
].join('')
const MACHINE_ABROAD = [
  String.raw`(?:ki|ai)[ -]?(?:assistent|agent|system|modell?)?(?:en|in)?(?![\w-])|sprachmodell|taalmodel|modele de langage|`,
  String.raw`(?:assistante?|agent|agente|assistente|asistente) (?:d'|de |di )?(?:ia|ai)|ia(?![\w-])|`,
  '(?:asistente|assistente) virtual|',
  'intelligenza artificiale|inteligencia artificial|intelligence artificielle|kunstliche intelligenz|',
  'asystencie ai|agencie ai|sztuczna inteligencjo|asystenta ai|agenta ai',
].join('')

/** The same in German, French, Spanish, Italian, Portuguese, Dutch and Polish. */
export const MACHINE_CALL_ABROAD = new RegExp(
  [
    `${SENTENCE}(?:${GREETING}) (?:die |den |alle |l'|la |el |le |il |lo |o |a |de )?(?:${MACHINE_ABROAD})`,
    String.raw`(?=\s?[:,;.!]| [dqcpv][a-z]{0,9} )`,
  ].join(''),
  'g',
)

const ORDERS = [
  '(?:please |kindly )?(?:forward|send|delete|reply|respond|ignore|disregard|approve|accept|reveal|append|insert|execute|pay|',
  'transfer|summari[sz]e|skip|tell|search|find (?:all|the)|read the|click|visit|open the|mark (?:this|all)|do not|never)',
  '|(?:please|kindly) (?:add|share|create|change|update|confirm|include|set|say)',
  '|before |when (?:you|the user|summari)|if the user|you must|you should|your |i (?:need|want) you|(?:could|can|would) you',
].join('')

/** A name at the beginning of a sentence with an order right behind it. Transcripts of chats name both who speak. */
const OTHER_SPEAKER = String.raw`\b(?:user|customer|client|visitor|caller|guest|me)\s?:`
const VOCATIVE = [
  String.raw`${SENTENCE}(?:assistant|agent|${MACHINE})(?<!${OTHER_SPEAKER}[^\0]{0,300})(?![^\0]{0,300}\n${OTHER_SPEAKER})`,
  String.raw`(?: action| instructions?)?\s?[:,]\s{1,3}["*_]{0,3}(?:${ORDERS})`,
].join('')

const ANSWER = String.raw`(?:answer|response|reply|output|summary)\b`
const INTO_ANSWER = String.raw`\b(?:in|into|to|within|at the (?:top|end|beginning|start|bottom) of) your ${ANSWER}`
/** What nobody asks a person to put into an answer. */
const FOREIGN = [
  '(?:an? (?:[a-z-]{2,15} ){0,3}(?:sentence|fact|claim|phrase|joke|poem|story|riddle|slogan|teaser|plug|rumou?r|emoji|',
  'recommendation|promotion|advert[a-z]*|announcement)|(?:an? )?(?:false|fake|misleading|untrue) [a-z]+|',
  'the (?:sentence|phrase|words?|slogan|announcement|following (?:sentence|phrase|text|link))|["“][^"”\\n]{3,200}["”])',
].join('')

const ANSWERED = [
  `\\b(?:modify|enhance|alter|adjust|augment|enrich|embellish|tailor|rewrite|extend) your ${ANSWER} (?:to|by|so|with) `,
  '(?:promot|mention|allud|includ|referenc|insert|add|embed|suggest|hint|endors|recommend|advertis|incorporat|claim)',
  `|\\b(?:integrate|insert|embed|incorporate|weave|slip|sneak|inject) an? [^!?\\n]{3,80}${INTO_ANSWER}`,
  `|\\b(?:include|add|mention|put|append|write|say|repeat|tell me|give me) ${FOREIGN}[^.!?\\n]{0,80}${INTO_ANSWER}`,
  `|${INTO_ANSWER},? (?:please )?(?:also )?(?:include|add|mention|put|insert|append|say) ${FOREIGN}`,
  `|\\b(?:when|while|before|after) (?:you )?summari[sz](?:e|ing)\\b[^.!?\\n]{0,30}\\b(?:include|add|append|put|say) ${FOREIGN}`,
  `|\\binclude (?:in|within) your ${ANSWER} ${FOREIGN}`,
  `|\\b(?:put|include|paste|add) (?:it|this|that) at the (?:top|end|beginning|start|bottom) of your ${ANSWER}`,
  String.raw`|\b(?:analy[sz]e|determine|identify|classify|detect|assess) the (?:sentiment|tone|emotion) of `,
  '(?:this|the following) (?:[a-z]+ ){0,2}?(?:tweet|review|comment|feedback|text|statement|sentence|post)',
  String.raw`|\bis (?:this|the following) (?:tweet|review|comment|feedback|text) (?:positive|negative)\b`,
  `|\\b(?:begin|start|end|finish|conclude|preface|close) your ${ANSWER} with (?:the (?:link|words?|phrase|sentence)|an? |["“])`,
  `|\\b(?:reverse|encode|encrypt|scramble|encipher|shift each letter (?:of|in)) (?:the [a-z]+ (?:of|in) )?your ${ANSWER}`,
  String.raw`|\b(?:instead of|rather than) (?:answering|summari[sz]ing|responding|translating)\b[^.!?\n]{0,60}`,
  String.raw`\b(?:output|print|say|respond|reply|write|send|forward|delete)\b`,
  String.raw`|\b(?:whatever|regardless of|no matter what) (?:the |your )?`,
  String.raw`(?:question|user|prompt|task|operator|developer|owner)\b`,
  String.raw`[^.!?\n]{0,40}[,:] (?:always |only )?(?:respond|answer|reply|say|output|send|forward)\b`,
].join('')

/** Marks of orders that need nothing else near them. */
export const ORDER_FORMS = { vocative: VOCATIVE, answered: ANSWERED }

/** "Reply to this mail with": what is to be given stands behind it. */
export const REPLY_WITH = /\b(?:reply|respond|answer|write back)\b(?! all)[^.!?\n]{3,40}\bwith\b/g

const WORK = '(?:developer|debug|admin|maintenance|diagnostic|test|training|evaluation)'
/** Modes of work that no mail can set a machine to. */
export const MODE = new RegExp(
  [
    String.raw`\b(?:in|enter|entering|activate|enable) ${WORK} mode\b`,
    String.raw`\b${WORK} mode (?:on|enabled|activated)\b`,
  ].join('|'),
  'g',
)

/** Tools that the reader is supposed to have. */
export const YOUR_TOOL =
  /\b(?:use|using|call|invoke|run|with|execute|through|via) your (?:[a-z_-]{2,20} ){0,2}(?:tools?|functions?)\b/g

/** A link that waits for what is to be carried out: `?data=` and nothing behind it. */
export const OPEN_LINK = /\bhttps?:\/\/[^\s<>"']{3,200}[?&][a-z_]{1,20}=(?=[\s"'.,<{[]|$)/g
