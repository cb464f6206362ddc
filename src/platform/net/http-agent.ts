// The parts of undici that are used here, by the files that they stand in: its front door also loads its fetch, WebSocket,
// cache, proxies and mocks, four modules of five.
import { createRequire } from 'node:module'
import type { Agent as AgentOfUndici, buildConnector as buildConnectorOfUndici, Dispatcher } from 'undici'

const require = createRequire(import.meta.url)

export type Agent = AgentOfUndici
export const Agent = require('undici/lib/dispatcher/agent.js') as typeof AgentOfUndici
export const buildConnector = require('undici/lib/core/connect.js') as typeof buildConnectorOfUndici

type Request = (this: Agent, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>

const request = require('undici/lib/api/api-request.js') as Request

/** What the front door makes a method of each agent. */
export const requestOver = (agent: Agent, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> =>
  request.call(agent, options)
