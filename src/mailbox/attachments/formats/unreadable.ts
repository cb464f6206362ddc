// Why a file has no text. The reason is for a person; whatever else goes wrong while a file is read means that it is broken.

export class Unreadable extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'Unreadable'
  }
}
