// How many mails a day an account may cause to its contacts: they leave from the operator's own address.

export const MAILS_PER_DAY_MAX = 100
/** Of those, for approvals: an agent that asks for many must not use up the mails that alerts would need. */
export const APPROVAL_MAILS_PER_DAY_MAX = 50
