import assert from 'node:assert/strict'
import test from 'node:test'
import { type Attributes, scanHtml } from './scan-html.ts'
import { readHtml } from './html-text.ts'
import { sanitiseHtml } from './sanitise.ts'
import { VECTORS } from './vectors.fixture.ts'

const clean = (html: string): string => sanitiseHtml(html).html

const ALLOWED_ATTRIBUTES = new Set(
  `width height border cellpadding cellspacing colspan rowspan span start value align valign bgcolor color dir lang nowrap type size
   face alt title style href rel target src data-remote-src`.split(/\s+/),
)
const FORBIDDEN_TAGS =
  /^(?:script|style|iframe|object|embed|form|input|button|textarea|select|svg|math|base|link|meta|template|noscript|body|html|video|audio)$/
const FORBIDDEN_STYLE =
  /url\(|expression|behaviou?r|binding|@import|javascript|position|z-index|(?:^|;)margin[^;]*-\d|\d{5,}|\\|<|>/i

/** What is wrong with a piece of output, told from its tags and attributes as a reader would see them. */
function faults(html: string): string[] {
  const found: string[] = []
  scanHtml(html, {
    open(name, attributes) {
      if (FORBIDDEN_TAGS.test(name)) found.push(`tag ${name}`)
      for (const [attribute, value] of attributes) {
        if (!ALLOWED_ATTRIBUTES.has(attribute)) found.push(`attribute ${attribute}`)
        if (attribute === 'style' && FORBIDDEN_STYLE.test(value)) found.push(`style ${value}`)
      }
      found.push(...addressFaults(name, attributes))
    },
    close: () => undefined,
    text: () => undefined,
  })
  return found
}

function addressFaults(name: string, attributes: Attributes): string[] {
  const found: string[] = []
  const href = attributes.get('href')
  if (href !== undefined && !/^(?:https?:\/\/|mailto:|tel:)/.test(href)) found.push(`href ${href}`)
  if (href !== undefined && attributes.get('rel') !== 'noopener noreferrer nofollow') found.push('rel')
  if (href !== undefined && attributes.get('target') !== '_blank') found.push('target')
  const src = attributes.get('src')
  if (src !== undefined && !(name === 'img' && /^(?:cid:|data:image\/(?:png|jpe?g|gif|webp|bmp);base64,)/.test(src))) {
    found.push(`src ${src}`)
  }
  return found
}

test('nothing of seventy known attacks is left in the output', () => {
  assert(VECTORS.length >= 50)
  for (const vector of VECTORS) {
    for (const html of [
      vector,
      `<p>${vector}</p>`,
      `<table><tr><td>${vector}`,
      `"'>${vector}`,
      `<div title='${vector}`,
    ]) {
      const output = clean(html)
      assert.deepEqual(faults(output), [], `${html}\n${output}`)
      // What is clean stays as it is: a second reader sees nothing that the first did not.
      assert.equal(clean(output), output, html)
    }
  }
})

test('the faults are found where they are', () => {
  assert.deepEqual(faults('<script>x</script>'), ['tag script'])
  assert.deepEqual(faults('<p onclick="x">'), ['attribute onclick'])
  assert.deepEqual(faults('<p style="position:fixed">'), ['style position:fixed'])
  assert.deepEqual(faults('<img src="https://e.example/x.png">'), ['src https://e.example/x.png'])
  assert.deepEqual(faults('<a href="javascript:x" rel="noopener noreferrer nofollow" target="_blank">'), [
    'href javascript:x',
  ])
})

test('images from elsewhere are kept but not loaded, those of the mail are shown', () => {
  assert.equal(
    clean('<img src="https://e.example/a.png?x=1&amp;y=2" alt="Logo" width="20">'),
    '<img alt="Logo" width="20" data-remote-src="https://e.example/a.png?x=1&amp;y=2" />',
  )
  assert.equal(clean('<img src="//e.example/a.png">'), '<img data-remote-src="https://e.example/a.png" />')
  assert.equal(clean('<img src="cid:logo@1">'), '<img src="cid:logo@1" />')
  assert.equal(clean('<img src="data:image/png;base64,AAEC">'), '<img src="data:image/png;base64,AAEC" />')
})

test('what is harmless keeps its look', () => {
  const html = `<style>.note{color:#333;padding:4px}</style><body bgcolor="#ffffff"><h1>Hi</h1><p class="note" align="center">a <b>b</b>
    <font color="red" size="2">c</font></p><table width="100%" cellpadding="0"><tr><td colspan="2">d</td></tr></table></body>`
  assert.equal(
    clean(html).replaceAll(/\s+/g, ' '),
    '<div bgcolor="#ffffff"><h1>Hi</h1><p align="center" style="color:#333;padding:4px">a <b>b</b> <font color="red" size="2">c</font></p><table width="100%" cellpadding="0"><tr><td colspan="2">d</td></tr></table></div>',
  )
})

test('what a page hides stays hidden', () => {
  assert.equal(clean('<p hidden>x</p>'), '<p style="display:none">x</p>')
  assert.equal(clean('<style>.pre{display:none}</style><p class=pre>x</p>'), '<p style="display:none">x</p>')
})

test('text is kept as text', () => {
  assert.equal(clean('1 &lt; 2 &amp; <b>3 > 2</b> &#x1F600; ü'), '1 &lt; 2 &amp; <b>3 &gt; 2</b> 😀 ü')
})

test('pages that cost quadratic time elsewhere are cleaned in one pass', () => {
  const pages = [
    '<div>'.repeat(150_000),
    '<b>'.repeat(100_000) + '</i>'.repeat(100_000),
    `<a ${'x=y '.repeat(175_000)}>`,
    `<p title="${'x'.repeat(750_000)}">x`,
    '<'.repeat(150_000),
    '<!--'.repeat(175_000),
    '&amp'.repeat(175_000),
    '<table><tr><td>'.repeat(40_000),
    `<p style="${'/*'.repeat(8_000)}">`.repeat(45),
    `<style>${'/*'.repeat(250_000)}</style><p class=a>`,
    `<style>${'.a{color:red}'.repeat(50_000)}</style>${'<p class=a>'.repeat(12_500)}`,
  ]
  for (const page of pages) {
    const before = process.threadCpuUsage()
    clean(page)
    const { user, system } = process.threadCpuUsage(before)
    assert((user + system) / 1000 < 1_000, `${page.slice(0, 20)} took ${(user + system) / 1000} ms`)
  }
})

test('a page that is too large is cut, and still whole', () => {
  const { html, isCut } = sanitiseHtml(`<div><p>${'word '.repeat(900_000)}</p><p>end</p></div>`)
  assert.equal(isCut, true)
  assert(html.length < 4_000_000)
  assert.equal(clean(html), html)
})

test('an element, a colour or a length that is called as a part of every object is read like any other', () => {
  const pageOf = (word: string): string =>
    `<${word} style="color:${word};font-size:${word};width:1${word}">seen</${word}><p>and this`
  assert.match(clean(pageOf('constructor')), /seen.*and this/s)
  assert.deepEqual(readHtml(pageOf('constructor')), readHtml(pageOf('nonsense')))
})
