// The parts of mailauth, each loaded when a mail first needs it. They are kept here: `import()` looks its module up anew each
// time, which costs a good part of a tenth of a millisecond with every mail.

export const spfLibrary = loadedOnce(() => import('mailauth/lib/spf/index.js'))
export const dmarcLibrary = loadedOnce(() => import('mailauth/lib/dmarc/index.js'))
export const arcLibrary = loadedOnce(() => import('mailauth/lib/arc/index.js'))

function loadedOnce<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loaded: Promise<Module> | undefined
  const forget = (failure: unknown): never => {
    loaded = undefined
    throw failure
  }
  // A moment without file descriptors must not cost every mail its authentication until the next start.
  return () => (loaded ??= load().catch(forget))
}
