// The work that pauses leave behind, for the floor that owns the queue: parking what waits, letting go what was held.
export {
  compactHoldsAnywhere as compactHolds,
  findMovedTo as whereItGoes,
  listToDrainAnywhere as toDrain,
  listToParkAnywhere as toPark,
  listWithOverdueAnywhere as withOverdue,
  lockWhileActive,
  updateDrained as noteDrained,
  updateHeldSince as noteHeldSince,
  updateParked as noteParked,
  type Expiring,
  type Unfinished,
} from './progress-queries.ts'
