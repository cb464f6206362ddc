// Held mail: parked behind a pause, released or cancelled behind its resume.
import type { Feature } from '../../platform/feature.ts'
import { holdWorkers } from './workers.ts'

export const feature = (): Feature => ({ workers: holdWorkers() })
