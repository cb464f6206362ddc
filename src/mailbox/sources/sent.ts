// The source of composed mail has the id of the message that carries it, and is kept while that is queued. Delivery reads it
// here: as a body of its own it would be stored twice.
import type { KeptSources } from '../../sending/delivery/sources.ts'
import { findSourcePart, listSources } from './queries.ts'

export const sentSources: KeptSources = { list: listSources, findPart: findSourcePart }
