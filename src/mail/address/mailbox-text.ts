// A mailbox as people read it: `Ann Lee <ann@example.com>`. Names of received mail are shown as they were written, not encoded.

export const mailboxText = ({ name, address }: { name: string; address: string }): string =>
  name === ''
    ? address
    : `${/^[\w !#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+$/u.test(name) ? name : quoted(name)} <${address}>`

const quoted = (name: string): string => `"${name.replaceAll(/["\\]/g, '\\$&')}"`
