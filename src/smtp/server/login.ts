// The dialogue of AUTH (RFC 4954) for PLAIN (RFC 4616) and LOGIN: from the client's lines to a name and a password.

export interface LoginAttempt {
  username: string
  password: string
}

export type LoginStep =
  | { kind: 'ask'; reply: string; next: (line: string) => LoginStep }
  | { kind: 'attempt'; attempt: LoginAttempt }
  | { kind: 'refused'; reply: string }

/** From the argument of AUTH: the mechanism and, perhaps, the first response. */
export function beginLogin(argument: string): LoginStep {
  const [mechanism = '', initial, ...rest] = argument.split(' ')
  if (rest.length > 0) return refused('501 5.5.4 Syntax: AUTH mechanism [initial-response]')
  switch (mechanism.toUpperCase()) {
    case 'PLAIN':
      return initial === undefined ? { kind: 'ask', reply: '334 ', next: readPlain } : readPlain(initial)
    case 'LOGIN':
      return initial === undefined
        ? { kind: 'ask', reply: `334 ${USERNAME}`, next: readUsername }
        : readUsername(initial)
    default:
      return refused('504 5.5.4 Use AUTH PLAIN or AUTH LOGIN')
  }
}

const USERNAME = Buffer.from('Username:').toString('base64')
const PASSWORD = Buffer.from('Password:').toString('base64')

function readPlain(line: string): LoginStep {
  const text = decode(line)
  if (text === null) return undecodable(line)
  // RFC 4616 §2: [authzid] NUL authcid NUL passwd. Nobody may act for another here.
  const [authzid, username, password, ...rest] = text.split('\0')
  if (!username || !password || rest.length > 0) return refused('501 5.5.2 The response is malformed')
  if (authzid !== '' && authzid !== username) return refused('535 5.7.8 The login is not accepted')
  return { kind: 'attempt', attempt: { username, password } }
}

function readUsername(line: string): LoginStep {
  const username = decode(line)
  if (!username) return undecodable(line)
  return {
    kind: 'ask',
    reply: `334 ${PASSWORD}`,
    next: answer => {
      const password = decode(answer)
      return password ? { kind: 'attempt', attempt: { username, password } } : undecodable(answer)
    },
  }
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const decode = (line: string): string | null =>
  BASE64.test(line) ? Buffer.from(line, 'base64').toString('utf8') : null

const undecodable = (line: string): LoginStep =>
  // RFC 4954 §4: a line with a single "*" ends the dialogue.
  line === '*' ? refused('501 5.7.0 Authentication cancelled') : refused('501 5.5.2 The response is not valid base64')

const refused = (reply: string): LoginStep => ({ kind: 'refused', reply })
