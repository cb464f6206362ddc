// The bytes of an attachment.
import { get, key } from '../../platform/http/contract.ts'
import { Type } from '../../platform/http/type.ts'

const octets = { raw: 'application/octet-stream' }

export const getAttachmentEndpoint = get('/v1/inbox-attachments/{id}', {
  summary: 'Download an attachment, or a range of its bytes',
  access: key('read', { levels: ['account', 'tenant', 'inbox'] }),
  noun: 'attachment',
  headers: Type.Object({ range: Type.Optional(Type.String()), 'if-range': Type.Optional(Type.String()) }),
  replies: { 200: octets, 206: octets },
  refusals: ['not_found', 'range_not_satisfiable', 'unavailable'],
})
