// The words of the mail that asks a contact to decide about an approval. They are ours, as in alert mail: of the mail that
// waits nothing is said but the name of its inbox, because its author may be who must not be trusted.
import { quoted } from './mail-wording.ts'

export interface ApprovalLink {
  url: string
  inboxAddress: string
  expiresAt: Date
}

export const approvalMail = ({ url, inboxAddress, expiresAt }: ApprovalLink): { subject: string; text: string } => ({
  subject: 'Sluice: A mail waits for your approval',
  text: [
    `A mail from the inbox ${quoted(inboxAddress)} leaves only when a person has approved it.`,
    '',
    'Read it and decide:',
    url,
    '',
    `The link works until ${expiresAt.toISOString()} and for one decision. Opening it changes nothing.`,
    'It is meant for you alone: who has the link can decide in your name. Do not forward this mail.',
    '',
    'You get this mail because your address is an alert contact, and the account has approval_links switched on.',
  ].join('\n'),
})
