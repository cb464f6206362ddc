/** Milliseconds of a core, of what the engine counts in microseconds. */
export const cpuMsOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000
