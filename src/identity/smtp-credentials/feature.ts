// SMTP credentials: who may submit mail, and from where it was done.
import type { Feature } from '../../platform/feature.ts'
import type { World } from '../../platform/world.ts'
import { smtpCredentialLoops } from './loops.ts'
import { smtpCredentialRoutes } from './routes.ts'

export const feature = (world: World): Feature => ({ routes: smtpCredentialRoutes(world), loops: smtpCredentialLoops })
