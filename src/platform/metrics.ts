// Prometheus metrics of this process. A feature makes its own instruments from the registry; names start with
// `sluice_`.
import { setTimeout as delay } from 'node:timers/promises'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'

export interface Metrics {
  registry: Registry
  /** What a scrape is answered with. */
  text(): Promise<string>
  counter<L extends string>(name: string, help: string, labels?: readonly L[]): Counter<L>
  /** `collect` runs at each scrape. */
  gauge<L extends string>(name: string, help: string, labels?: readonly L[], collect?: Collect<L>): Gauge<L>
  histogram<L extends string>(name: string, help: string, labels?: readonly L[], buckets?: number[]): Histogram<L>
}

type Collect<L extends string> = (gauge: Gauge<L>) => void | Promise<void>

/** From a cached read to the slowest statement that is still allowed. */
const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Until the event loop was observed, its figures are no numbers. */
const FIRST_OBSERVED_MS = 50

let observed: Promise<Registry> | null = null

/**
 * Once, however many services a process runs: what it observes of garbage collection and the event loop has no end. From the
 * first scrape on: it wakes the process a hundred times a second, a quarter of what an idle one does.
 */
async function observeProcess(): Promise<Registry> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  countCpuUntilNow(registry)
  await delay(FIRST_OBSERVED_MS)
  return registry
}

/** The library counts from when it is asked to. */
function countCpuUntilNow(registry: Registry): void {
  const { user, system } = process.cpuUsage()
  const used = { cpu_user: user, cpu_system: system, cpu: user + system }
  for (const [name, microseconds] of Object.entries(used)) {
    const counter = registry.getSingleMetric(`process_${name}_seconds_total`) as Counter
    counter.inc(microseconds / 1e6)
  }
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  return {
    registry,
    async text() {
      const ofProcess = await (observed ??= observeProcess())
      return (await Promise.all([ofProcess.metrics(), registry.metrics()])).join('\n')
    },
    counter: (name, help, labels = []) => new Counter({ name, help, labelNames: labels, registers }),
    gauge: (name, help, labels = [], collect) =>
      new Gauge({
        name,
        help,
        labelNames: labels,
        registers,
        ...(collect && {
          async collect() {
            await collect(this)
          },
        }),
      }),
    histogram: (name, help, labels = [], buckets = SECONDS_BUCKETS) =>
      new Histogram({ name, help, labelNames: labels, buckets, registers }),
  }
}
