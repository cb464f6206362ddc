// Held mail: parked behind a pause, released or cancelled behind its resume.
import type { Feature } from '../../platform/feature.ts'
import { holdLoops } from './loops.ts'

export const feature = (): Feature => ({ loops: holdLoops() })
