// English.
import type { Lexicon } from './concept.ts'

export const english: Lexicon = {
  ignore:
    'ignore|ignoring|dismiss|neglect|be ignored|disregard|disregarding|be disregarded|forget|forgetting|override|' +
    'overrides|overriding|overrule|bypass|bypassing|circumvent|discard|supersede*|nullify|do not follow|' +
    'dont follow|stop following|pay no attention|do not obey|dont obey|set aside|abandon|replace|violate|' +
    'do not comply|dont comply|cancel|void|throw away|erase|takes precedence over|take precedence over|' +
    'takes priority over|overwrite',
  prior:
    'previous|previously|prior|above|earlier|preceding|all|any|every|existing|original|before|your|foregoing|' +
    'initial|current|old|other|past|everything|former|default|built in|the system|system|safety|security|these|' +
    'those|of them',
  rules:
    'instruction|instructions|prompt|prompts|rule|rules|guideline|guidelines|directive|directives|constraint|' +
    'constraints|restriction|restrictions|commands|orders|programming|training|guardrail|guardrails|safeguards|' +
    'instructed|you were told|you have been told|limitations|system message|policies|protocols|alignment',
  safety:
    'safety constraint*|safety rule*|safety guideline*|safety polic*|safety filter*|safety measure*|' +
    'safety protocol*|guardrail*|content filter*|content polic*|security filter*|security polic*|' +
    'tool restriction*|system prompt*|your prompt|your programming|your training|your restrictions|' +
    'your guidelines|your constraints|your instructions|ethical guidelines|your rules|your safeguards|' +
    'your limitations|your default behavior|your default behaviour',
  agent:
    'ai|ai assistant|ai agent|email agent|ai model|ai system|assistant|agent|agents|language model*|llm|llms|' +
    'chatbot|chatgpt|gpt|claude|gemini|copilot|openai|anthropic|bot|ai assistants|ai agents|automated assistant|' +
    'email assistant|mail assistant',
  agentCall:
    'if you are an automated|if you are an assistant|if an ai|you are an ai|as an ai assistant|as an ai agent|' +
    'as an ai model|as an ai language model|as the ai|as my ai|as the assistant|as my assistant|as your ai|' +
    'attention language model*|attention automated|note to llm*|instructions for llm*|you the agent|' +
    'you the assistant|you the ai|you as the agent|you as the assistant|you as an ai|you as an assistant|' +
    'assistant reading this|agent reading this|assistant processing this|agent processing this|' +
    'agents processing this|agents reading this|model processing this|model reading this|system processing this|' +
    'tool processing this|ai systems processing|ai summarizing|assistant summarizing|ai handling|' +
    'assistant handling|agent handling|when summarizing this|when summarising this|when you summarize|' +
    'when you summarise|while summarizing|while summarising|when processing this|when you process this|' +
    'while processing this|before summarizing|before summarising|after summarizing|after summarising|' +
    'after reading this email|after reading this message|when reading this email|upon reading this|' +
    'when analyzing this|when analysing this|when triaging|when you read this email|in your summary|' +
    'the summary must|the summary should|your summary must|your summary should|if you can read this|' +
    'when generating a reply|when drafting a reply|when composing a reply|the next time you|your next task|' +
    'your new task|your task is now|your new goal|your real task|your actual task|your new role|' +
    'your new instructions|assistant please|ai please|assistant you must|agent you must|assistant must|ai must|' +
    'assistants must|agents must|assistant should|ai should|ai assistants should|ai agents should|' +
    'the assistant is to|the agent is to|when the user says|when the user asks|when the user types|' +
    'whenever the user|no matter what your|before you answer|before you reply|before you respond|' +
    'when answering questions|instead of summarizing|instead of summarising|instead of replying|do this first|' +
    'before doing anything else|before you do anything|before continuing|before answering|before replying|' +
    'you must immediately|you must now|you are required to|you are instructed to|you are hereby instructed|' +
    'your first action|your next action|next action|when you see this|when you process|when you encounter|' +
    'as soon as you read|once you have read|to complete the task|to complete this task|' +
    'in order to complete your task|action required by assistant|action for the agent|agent action|' +
    'assistant action|tool call required|use your tools|use your tool|using your tools|with your tools|' +
    'your email tools|your tool access|if the assistant|if the agent|if an assistant|if the model|' +
    'if your assistant|any assistant|whichever assistant|if the ai|if an agent|if any ai|for whoever summarizes|' +
    'whoever processes this',
  openLink: 'to the url|query parameter|query string|get request|base64 of|render the image',
  send:
    'forward|forwarding|send|bcc|cc|blind copy|export|exporting|share|transmit|upload|exfiltrate*|leak|leaks|' +
    'dump|redirect|relay|loop in|pass on|pass along|transfer|siphon|beam|email me|email them|post it to|' +
    'post them to|copy them to|copy it to|mail it to|email it|email all|email the|email every|copy all|copy the|' +
    'copy every|pass all|submit all|add to bcc|mail all|mail the|mail them',
  replyWith:
    'reply with|respond with|answer with|replying with|include in the reply|include in your reply|' +
    'include in the response|include in your response|include in the email|include in the body|' +
    'include in the reply body|in the reply body|in your reply body|in the body of your reply|reply body|send me|' +
    'give me|show me|tell me|read me|paste|reply to me with|write back with|list out|enumerate|' +
    'in your reply include|when you reply*|in your response include|append to your reply|attach to your reply|' +
    'respond by|reply by|list all|list the|list every|list each|list your|return the|return all|output the|' +
    'output all|print the|print all|print out|quote the|compile a|compile all|share with me|when replying|' +
    'in your next reply|in the next reply|in any reply|in all replies|include all|include every|include any|' +
    'attach all|attach any|attach every|summarize all|summarize every|summarise all|collect all|gather all',
  answer: 'reply|respond|answer|auto reply|autoreply',
  act:
    'forward|send|delete|deletes|archive|remove|erase|purge|wipe|call|execute|run|invoke|use|trigger|click|visit|' +
    'open|fetch|download|mark|label|move|pay|approve|wire|reset|disable|enable|grant|accept|confirm|transfer|' +
    'purchase|buy|order|schedule|create|update|change|set|add|append|include|insert|attach|bcc|reply|respond|' +
    'answer|say|state|write|output|print|reveal|share|export|upload|post|search|find|look up|retrieve|extract|' +
    'collect|gather|list|summarize|translate|recommend|rate|classify|treat|skip|stop|unsubscribe|do not|must|' +
    'tell|inform|install|score|rank|release|compose|render|commit|merge|browse|navigate|log in',
  bulk:
    'all emails|all email|all mail|all mails|all messages|all of the emails|all the emails|all the messages|' +
    'all my emails|all my messages|all of my emails|all your emails|all their emails|all his emails|' +
    'all her emails|all our emails|all of your emails|all of the messages|all of your messages|all unread|' +
    'all other emails|all other messages|all incoming|all inbound|all outgoing|all future emails|' +
    'all future replies|all future messages|all future correspondence|all further emails|all replies|every reply|' +
    'every response|all responses|all correspondence|all conversations|all threads|all attachments|all contacts|' +
    'any email|any emails|any message|any messages|any mail|any thread|any unread|any recent|any attachment|' +
    'every email|every message|every mail|every thread|every incoming|every unread|each email|each message|' +
    'each thread|each mail|each body|emails with|emails that|emails about|emails from|emails containing|' +
    'emails tagged|emails marked|emails in|messages containing|all senders|messages tagged|messages marked|' +
    'messages in the|messages from the|email ids|message ids|the inbox|your inbox|my inbox|his inbox|her inbox|' +
    'entire inbox|whole inbox|this inbox|inbox contents|the mailbox|your mailbox|this mailbox|entire mailbox|' +
    'mailbox contents|full thread|full conversation|entire thread|entire conversation|entire email|whole thread|' +
    'whole conversation|thread history|conversation history|chat history|email history|message history|' +
    'email thread|email archive|contact list|address book|list of contacts|contacts list|internal emails|' +
    'internal email|internal financial|confidential emails|confidential email|sensitive emails|private emails|' +
    'private messages|financial emails|unread emails|unread messages|recent emails|recent messages|latest emails|' +
    'past emails|older emails|other emails|sent folder|sent items|drafts folder|subject lines|their emails|' +
    'previous emails|previous messages|earlier emails|prior emails|emails you have|emails you can|' +
    'messages you have|everything you know|everything you have|mail archive|message bodies|email bodies|' +
    'email body|all the email|everything in the inbox|everything in your inbox|my emails|his emails|her emails|' +
    'someone s emails|mail tagged|anything tagged|anything marked|anything labeled|emails labeled|' +
    'emails labelled|email that has|email that contains|email containing|emails which|messages that|' +
    'messages which|body of each|bodies of all|subject and body|sender and subject|list of emails|' +
    'list of messages|a summary of all|summary of every|summary of the inbox|summary of my inbox|other threads|' +
    'other messages|other conversations|first 100 characters|first 200 characters|first 500 characters|' +
    'first characters of|first lines of|the user s|user s full name|user s address|user s calendar|user s recent|' +
    'user s inbox|user s contacts|the users inbox|list of all emails|list of all email|list of all messages|' +
    'list of all senders|list of all contacts|list of all subjects|copies of all emails|copy of all emails|' +
    'copy of every email|copies of every email|copy of all messages',
  data:
    'all invoices in|all documents in|all files in|internal documents|customer list|client list|customer data|' +
    'user data|personal data of|all information|all data|all files|all documents|all records',
  recent: 'last|latest|recent|most recent|newest|first|top',
  mails: 'emails|messages|mails|threads|conversations|attachments|replies|drafts',
  autoForward:
    'forwarding rule*|auto forward*|autoforward*|forward rule*|mail rule*|inbox rule*|mailbox rule*|email rule*|' +
    'filter that forwards|filter to forward|filter which forwards|redirect rule*|automatic forward*|' +
    'automatically forward*|auto bcc|automatically bcc|automatically cc|always bcc|always cc|always forward|' +
    'delegate access|mailbox delegation',
  secret:
    'password|passwords|passcode|passcodes|credential|credentials|api key|api keys|api token*|access token*|' +
    'access key*|secret key*|private key*|secrets|verification code*|security code*|one time code*|' +
    'one time password*|otp|2fa code*|mfa code*|login code*|authentication code*|reset link*|password reset*|' +
    'login detail*|login link*|bank detail*|account number*|credit card*|card number*|social security*|' +
    'session cookie*|env file|environment variables|seed phrase|recovery code*|backup code*|magic link*|' +
    'bearer token*|ssh key*|signing key*',
  conceal:
    'do not tell|dont tell|never tell|do not inform|dont inform|do not notify|dont notify|do not alert|' +
    'dont alert|do not mention|dont mention|never mention|do not reveal|dont reveal|do not disclose|' +
    'dont disclose|do not show|dont show|do not display|do not report this|do not let|dont let|without telling|' +
    'without informing|without notifying|without alerting|without mentioning|without asking|without showing|' +
    'hide this from|hide it from|conceal this from|conceal it from|keep this hidden|keep this from|keep it from|' +
    'keep this secret from|not visible to|invisible to|cannot see|cant see|can not see|will not see|wont see|' +
    'no need to tell|no need to inform|no need to notify|no need to ask|must not know|should not know|' +
    'must never know|not be shown to|not be visible to|hidden from|do not include this|omit this from|' +
    'leave this out of|do not acknowledge|do not summarize this|do not quote this|do not repeat this|' +
    'without confirmation|without confirming|without permission|without approval|without human|without review|' +
    'no confirmation',
  quietly:
    'silently|secretly|quietly|covertly|discreetly|stealthily|in the background|behind the scenes|invisibly|' +
    'delete this email after*|delete this message after*|then delete this email|then delete this message|' +
    'and delete this email|and delete this message|cover your tracks|leave no trace|erase your trace|' +
    'remove any trace|delete the evidence',
  user:
    'the user|user|your user|your owner|the owner|the human|your human|human|your principal|your operator|' +
    'the operator|the recipient|mailbox owner|account owner|account holder|your boss|the person you|your summary|' +
    'the summary',
  reveal:
    'reveal*|print|output|repeat|show|display|disclose|leak|tell me|list|dump|share|send me|reply with|' +
    'respond with|include|quote|recite|write out|expose|summarize|describe|what is|what are|provide|translate|' +
    'encode|copy|paste|forward',
  prompt:
    'system prompt|system prompts|your system message|your instructions|your prompt|initial prompt|' +
    'your initial instructions|original prompt|hidden prompt|your hidden instructions|your configuration|' +
    'your guidelines|your rules|your tools|tool list|your available tools|instructions you were given|' +
    'instructions you have been given|instructions you got|instructions were you given|instructions you received|' +
    'text above this|everything above|words above|your context window|your full context|' +
    'your internal instructions|developer prompt|prompt verbatim|instructions verbatim|what you were told|' +
    'what you have been told|your api key|your environment variables|your memory|your tool definitions',
  unlock:
    'unrestricted mode|god mode|dan mode|jailbreak mode|jailbroken|unfiltered mode|override mode|root mode|' +
    'sudo mode|do anything now|restrictions are lifted|restrictions lifted|restrictions have been lifted|' +
    'restrictions have been removed|restrictions are removed|restrictions no longer apply|' +
    'restrictions are disabled|restrictions are suspended|limitations are lifted|rules no longer apply|' +
    'guidelines no longer apply|instructions no longer apply|guidelines were replaced|' +
    'guidelines have been replaced|instructions were replaced|instructions have been replaced|safety is disabled|' +
    'filters are off|filters are disabled|safety disabled|safety filters are|safety checks are disabled|' +
    'safety checks disabled|without any restrictions|act without restrictions|work without restrictions|' +
    'answer without restrictions|respond without restrictions|no longer bound|no longer restricted|not bound by|' +
    'free from all restrictions|all restrictions|all safeguards|you are now|you are no longer|from now on you|' +
    'from now on act|act as if|act as a|act as an|pretend to be|pretend you are|pretend that you|roleplay as|' +
    'role play as|imagine you are|imagine that you|unrestricted assistant|unrestricted ai|uncensored|' +
    'never refuses|you will now|enter developer|enable developer|elevated privileges|elevated permissions|' +
    'superuser|full access granted|access level|disable your|disable safety|turn off safety|' +
    'confirmation is disabled',
  systemic:
    'system message|system prompt|system instruction*|system override|system update|system notice|' +
    'system directive*|system command*|system note|system alert|developer note|developer message|' +
    'developer instruction*|developer override|dev note|admin note|admin override|admin instruction*|' +
    'administrator note|administrator override|operator message|operator note|operator instruction*|' +
    'new instruction|new instructions|updated instructions|important instruction|important instructions|' +
    'hidden instruction*|secret instruction*|special instruction|priority instruction*|' +
    'high priority instruction*|additional instruction*|begin instruction*|end of instructions|' +
    'start of instructions|end of user|end of email|end of message|end of context|end of document|' +
    'end of newsletter|begin system|end system|security override|policy override|policy update|' +
    'emergency override|compliance override|assistant instruction*|agent instruction*|ai instruction*|' +
    'ai directive*|llm instruction*|automation note|automation instruction*|internal directive|machine readable|' +
    'override code|authorization code|authorized by the system|message from openai|message from anthropic|' +
    'from openai|from anthropic|prompt update|task update|context update|mandatory step|required step|' +
    'note to self|note to the system|system task|system request|automated instruction|automated directive|' +
    'instruction override|instructions override|hidden note|hidden text|hidden message|hidden command|' +
    'hidden directive|hidden prompt|secret note|invisible text|the following instruction*|following command*|' +
    'new directive|new directives|new rule|new rules|new task|updated directive|updated policy|admin message|' +
    'administrator message|root command|end user message|trusted instruction*|verified instruction*|' +
    'internal instruction*|internal note|process note|workflow note|agent note|assistant note|bot note|' +
    'note developer|prompt override|treat this as|treat the following as|interpret this as|' +
    'consider this a system|highest priority|takes precedence|this email is a system|authoritative instruction*',
  authorise:
    'the user has|user has authorized|user has approved|user has already|user already approved|user already|' +
    'human in the loop has|human has already approved|user wants you|user has consented|user has whitelisted|' +
    'user has granted|user consents|user authorizes|user requested|user asked you|user explicitly|your user has|' +
    'owner has approved|owner has authorized|i authorize you|i am authorizing you|i m authorizing you|' +
    'i hereby authorize|i authorise you|im authorizing you|you have my permission|you are hereby authorized|' +
    'you are authorized to|you are authorised to|you are pre authorized|you have been authorized|pre approved by|' +
    'preapproved by|whitelisted|allowlisted|this is pre authorized|this action is approved|' +
    'action has been approved|no approval needed|no approval is needed|on behalf of the user|' +
    'the administrator has|admin has approved|ceo has approved|permission granted|as your developer|' +
    'as your administrator|as your admin|as your creator|as your operator|as the administrator|' +
    'as the system administrator|this is your developer|this is your administrator|this is your admin|' +
    'this is your manager|this is your creator|this is your operator|this is your user|this is the user|' +
    'this is openai|this is anthropic|i am your developer|i am your administrator|i am your user|i am the user|' +
    'i am your creator|i m your developer|i m your administrator|per the new policy|per new policy|' +
    'per the new it policy|compliance requires|legal requires|for compliance reasons|for compliance purposes|' +
    'for audit purposes|for our audit|for our records please|authorized request|authorised request|' +
    'aligned on this|approved this|already approved|has approved this|pre approved|already cleared|cleared this|' +
    'signed off on this',
  oddForm:
    'backward|backwards|in reverse|reversed|base64|base32|base 64|base 32|rot13|caesar cipher|morse code|' +
    'hexadecimal|hex encoding|binary code|pig latin|in all caps|in emoji|emojis only|substitution cipher|cipher|' +
    'as a poem|as a pirate|pirate speech|haiku|limerick|shakespear*|in the style of|in the tone of|' +
    'in the voice of|like a pirate|ascii85|base85|base58|base encoding',
  yourAnswer:
    'your answer|your response|your reply|your message|your output|the answer|the response|your text|' +
    'your summary|reply in|respond in|answer in|write the reply|write your|translate your|encode your|' +
    'compose your',
  mine:
    'my previous|my earlier|my last|my prior|my instructions|our previous|our earlier|our last|i sent|i gave|' +
    'i had sent|we sent|i wrote|in my email|in my last|my email|my message|my note|our email|my mistake|' +
    'assembly instructions|shipping instructions|delivery instructions|parking instructions|payment instructions|' +
    'wiring instructions|washing instructions|care instructions|setup instructions|printed instructions|' +
    'in the manual|dress code|on the label|on the box|on the packag*|leaflet|recipe|we ignore|i ignore|' +
    'instructions about|instructions regarding|instructions concerning|instructions on how',
  suspicion:
    'suspicious|phishing|spam|scam*|fraud*|abuse|malicious|unsolicited|spoof*|suspect|looks odd|report it|' +
    'report them|reporting|bounce*|undeliver*|misdirected|in error|by mistake|not intended for you|harass*|' +
    'content transfer encoding|rcpt to|mail relay',
  person:
    'assistant professor*|assistant manager*|assistant director*|assistant editor*|assistant principal*|' +
    'assistant coach*|travel agent*|estate agent*|insurance agent*|booking agent*|billing agent*|call centre|' +
    'call center|dear agents|all agents|all assistants|research assistant*|teaching assistant*|shop assistant*',
  fault:
    'error|errors|fails|failed|failure|failing|exception|traceback|bug|bugs|timeout|times out|reproduce|' +
    'stack trace|returns|docs|documentation|documented|schema|endpoint|endpoints|parameter|parameters|' +
    'pull request|release notes|patch|changelog|not found|status code|deprecated',
  unsubscribe:
    'unsubscribe*|opt out|opt-out|stop receiving|no longer receive|no longer wish|mailing list|email preferences|' +
    'subscribed|privacy request*|contact us|customer service|customer support|help desk|feedback to|' +
    'applications to|send an email to|send us|email us|write to us|reach us|contact us at|contact our|' +
    'reach out to|get in touch|to reach a|talk to a human|a person will|reach a human|send your application|' +
    'send your resume|send your cv|rsvp|apply|register|any questions|have questions|further questions|' +
    'questions about',
  never:
    'never|we will not ask|do not share|dont share|do not send|dont send|do not give|should not|will never ask|' +
    'nobody|do not forward|dont forward|do not email|cannot send|unable to|can not send|avoid|refrain|' +
    'from revealing|from leaking|from disclosing|prevent*|protect*',
  firstPerson:
    'i will|i ll|we will|we ll|i have|i ve|we have|we ve|i can|we can|i am going|we are|i was|we may|we might|' +
    'i had|you can also|you may also|you can now|lets you|allows you|users can|helps you|now supports|' +
    'to help you|how to|i forwarded|i sent|we reply|we respond|we answer|i reply|i respond|we aim|we try|' +
    'we strive|we forward|i forward|we send|i send|we ll send|we shall|i d like to|i would like to share|' +
    'has been sent|have been sent|was sent|were sent|will be sent|are sent|is sent|gets sent|customers can|' +
    'teams can|you can|lets users|lets teams|so you can|it can|which can|that can|able to|ability to|option to|' +
    'feature*|we need to|i need to|we should|we want|we must|i want to|our script|our code|if you receive',
  aboutAttacks:
    'attackers|attacker|adversar*|prompt injections|injection attack*|prompt injection attack*|' +
    'injection attempt*|researcher*|vulnerabilit*|for example|for instance|such as|phrases like|prompts to|' +
    'prompts for|prompt of the|sample prompts|example prompts|these prompts|this prompt|strings like|text like|' +
    'sentences like|example of|examples of|e g|payload*|red team*|jailbreak attempt*|training session|awareness|' +
    'workshop|webinar|whitepaper|white paper|blog post|our paper|our research|mitigat*|we blocked|we detected|' +
    'was detected|were detected|detector|detection|talk about|talks about|cve|owasp|course|tutorial|lecture|' +
    'in this article|in this issue|case study|incident report|post mortem|postmortem|threat*|exploit*|novel|' +
    'chapter|fiction|test suite|unit test|test case*|benchmark*|evaluat*',
  othersMail:
    'email from|emails from|message from|messages from|mail from|email about|emails about|email regarding|' +
    'thread with|thread about|conversation with|conversation about|emails between|messages between|' +
    'correspondence with|the email titled|email with subject|email with the subject|latest email|last email|' +
    'most recent email|last message|latest message|most recent message|email body|message body|each email',
  destroy: 'delete|erase|purge|wipe|trash|permanently delete|empty|archive|mark|move|remove',
  sensitive:
    'confidential|salary|salaries|payroll|internal|private|inbox|mailbox|correspondence|acquisition|merger|' +
    'sensitive',
  address:
    'my personal email|my personal account|my personal address|my private email|my private account|my gmail|' +
    'my other email|my other address|my external|outside address|external address|external email|' +
    'the address below|the following address|personal inbox|the url below',
  contents:
    'contents of|text of the|content of each|content of the|full text of|full content*|the body of|the bodies of|' +
    'everything in',
}
