// The two pages behind an unsubscribe link. Plain, readable, no script.
import { escapeHtml } from '../../mail/text/escape-html.ts'

export const questionPage = (recipient: string): string =>
  page(
    'Unsubscribe',
    `<p>Stop these mails to <b>${escapeHtml(recipient)}</b>?</p>
     <form method="post"><button type="submit">Unsubscribe</button></form>`,
  )

export const donePage = (recipient: string): string =>
  page('Unsubscribed', `<p><b>${escapeHtml(recipient)}</b> will get no more of these mails.</p>`)

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
  body { font: 17px/1.5 system-ui, sans-serif; color: #222; background: #f6f6f4; display: grid; place-items: center;
    min-height: 90vh; margin: 0 }
  main { background: #fff; padding: 2rem 2.5rem; border-radius: 10px; max-width: 26rem; border: 1px solid #e3e3df }
  h1 { font-size: 1.3rem; margin: 0 0 .5rem } b { overflow-wrap: anywhere }
  button { font: inherit; padding: .55rem 1.2rem; border: 0; border-radius: 6px; background: #1f5fbf; color: #fff }
</style></head><body><main><h1>${title}</h1>${body}</main></body></html>
`
