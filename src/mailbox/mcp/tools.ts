// The tools there are, in the order in which they are listed.
import { getMessageTool, listInboxesTool, listMessagesTool } from './read-tools.ts'
import { searchMessagesTool } from './search-tool.ts'
import { replyMessageTool, sendMessageTool } from './send-tools.ts'
import type { Tool } from './tool.ts'

export const TOOLS: readonly Tool[] = [
  listInboxesTool,
  listMessagesTool,
  searchMessagesTool,
  getMessageTool,
  sendMessageTool,
  replyMessageTool,
]
