// Folders: five that every inbox has, and those that callers make.
import type { Static } from 'typebox'
import { del, get, key, patch, post } from '../../platform/http/contract.ts'
import { DateTime, NamedObject } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { LEVELS } from '../../platform/principal.ts'

export const Folder = NamedObject('Folder', {
  name: Type.String(),
  system: Type.Boolean({ description: 'inbox, sent, archive, spam or trash' }),
  total: Type.Integer({ description: 'Messages in it' }),
  unread: Type.Integer(),
  created_at: DateTime(),
})
export type Folder = Static<typeof Folder>

const FolderName = NamedObject('FolderName', {
  name: Type.String({ minLength: 1, maxLength: 256, description: '1 to 64 characters' }),
})

const read = key('read', { levels: LEVELS })
const write = key('send', { levels: LEVELS })

export const listFoldersEndpoint = get('/v1/inboxes/{id}/folders', {
  summary: 'List the folders of an inbox with exact counts: system folders first, then the others by name',
  access: read,
  replies: { 200: Type.Object({ folders: Type.Array(Folder) }) },
})

export const createFolderEndpoint = post('/v1/inboxes/{id}/folders', {
  summary: 'Create a folder',
  access: write,
  body: FolderName,
  replies: { 201: Folder },
  refusals: ['folder_exists', 'conflict'],
  audit: 'folder.create',
})

export const renameFolderEndpoint = patch('/v1/inboxes/{id}/folders/{name}', {
  summary: 'Rename a custom folder; its messages follow',
  access: write,
  body: FolderName,
  replies: { 200: Folder },
  refusals: ['folder_exists', 'conflict'],
  audit: 'folder.rename',
})

export const deleteFolderEndpoint = del('/v1/inboxes/{id}/folders/{name}', {
  summary: 'Delete a custom folder; what is in it goes to move_to, without which it must be empty',
  access: write,
  query: Type.Object({
    move_to: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Any other folder but sent' })),
  }),
  replies: { 200: Type.Object({ name: Type.String(), moved: Type.Integer() }) },
  refusals: ['folder_not_empty', 'conflict'],
  audit: 'folder.delete',
})

export const emptyFolderEndpoint = post('/v1/inboxes/{id}/folders/{name}/empty', {
  summary: 'Delete everything in trash or spam for good',
  access: write,
  replies: { 200: Type.Object({ deleted: Type.Integer({ description: 'Messages that were in it' }) }) },
  refusals: ['conflict', 'invalid_request'],
  audit: 'folder.empty',
})
