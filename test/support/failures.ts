// A reporter beside the one for people: the names of what failed at the top, one a line. They are files, or whole groups
// of them where a process came to an end.
import type { TestEvent } from 'node:test/reporters'

export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.nesting === 0) yield `${data.name}\n`
  }
}
