import assert from 'node:assert/strict'
import test from 'node:test'
import { type Attributes, walkHtml } from './html-walk.ts'
import { sanitiseHtml } from './sanitise.ts'

const clean = (html: string): string => sanitiseHtml(html).html

/** Pages that run something in one browser or another, each in its own way. */
const VECTORS = [
  '<script>alert(1)</script>',
  '<SCRIPT SRC=//evil.example/x.js></SCRIPT>',
  '<scr<script>ipt>alert(1)</scr</script>ipt>',
  '<script/x>alert(1)</script>',
  '<<script>alert(1)//<</script>',
  '<img src=x onerror=alert(1)>',
  '<img src=x onerror="alert(1)" / >',
  '<img/src="x"/onerror=alert(1)>',
  '<img """><script>alert(1)</script>">',
  '<img src="javascript:alert(1)">',
  '<img src=`javascript:alert(1)`>',
  '<img srcset="x 1x, javascript:alert(1) 2x">',
  '<img src="data:text/html,<script>alert(1)</script>">',
  '<img src="data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+">',
  '<a href="javascript:alert(1)">x</a>',
  '<a href="JaVaScRiPt:alert(1)">x</a>',
  '<a href=" \x01javascript:alert(1)">x</a>',
  '<a href="java\tscript:alert(1)">x</a>',
  '<a href="java&#10;script:alert(1)">x</a>',
  '<a href="&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&#58;alert(1)">x</a>',
  '<a href="javascript&colon;alert(1)">x</a>',
  '<a href="vbscript:msgbox(1)">x</a>',
  '<a href="data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==">x</a>',
  '<a href="//evil.example/x">x</a>',
  '<a href="https://e.example" onclick=alert(1) onmouseover="alert(1)">x</a>',
  '<a href="https://e.example/&quot; onclick=&quot;alert(1)">x</a>',
  '<svg onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
  '<svg><style><img src=x onerror=alert(1)></style></svg>',
  '<math><mi xlink:href="javascript:alert(1)">x</mi></math>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--><img src=x onerror=alert(1)>">',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>',
  '<textarea><p title="</textarea><img src=x onerror=alert(1)>"></textarea>',
  '<title><p title="</title><img src=x onerror=alert(1)>"></title>',
  '<xmp><p title="</xmp><img src=x onerror=alert(1)>"></xmp>',
  '<iframe src="javascript:alert(1)"></iframe>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<object data="javascript:alert(1)"></object>',
  '<embed src="data:image/svg+xml,<svg onload=alert(1)>">',
  '<form action="https://evil.example"><input name=a autofocus onfocus=alert(1)><button formaction="javascript:alert(1)">x</button></form>',
  '<input type=image src=x onerror=alert(1)>',
  '<body onload=alert(1) background="javascript:alert(1)">x',
  '<meta http-equiv="refresh" content="0;url=javascript:alert(1)">',
  '<base href="javascript:alert(1)//"><a href="x">x</a>',
  '<link rel=stylesheet href="https://evil.example/x.css">',
  '<style>@import "https://evil.example/x.css"; body{background:url(javascript:alert(1))}</style><p>x</p>',
  '<style>p{behavior:url(x.htc);color:expression(alert(1))}</style><p>x</p>',
  '<p style="background:url(https://evil.example/track.gif)">x</p>',
  '<p style="width:expression(alert(1));-moz-binding:url(x.xml#a)">x</p>',
  '<p style="background:\\75rl(https://evil.example/x)">x</p>',
  '<p style="position:fixed;top:0;left:0;width:100%;height:100%;z-index:9999">x</p>',
  '<p style="margin:-500px 0 0 -500px">x</p>',
  '<p style="width:99999px;height:900000%;font-size:5000px;line-height:900">x</p>',
  '<p style="color:red;}</style><script>alert(1)</script>">x</p>',
  '<details open ontoggle=alert(1)>x</details>',
  '<video><source onerror="alert(1)"></video><audio src=x onerror=alert(1)>',
  '<marquee onstart=alert(1)>x</marquee>',
  '<select onfocus=alert(1) autofocus><option>x</select>',
  '<isindex action="javascript:alert(1)" type=image>',
  '<table background="javascript:alert(1)"><tr><td background="https://evil.example/x.gif">x</td></tr></table>',
  '<div id="constructor" class="x" name="body" contenteditable onbeforeinput=alert(1)>x</div>',
  '<template><img src=x onerror=alert(1)></template>',
  '<!--[if IE]><script>alert(1)</script><![endif]-->',
  '<!--><img src=x onerror=alert(1)>-->',
  '<![CDATA[<img src=x onerror=alert(1)>]]>',
  '<?xml version="1.0"?><img src=x onerror=alert(1)?>',
  '<img src=x:x\0 oner\0ror=alert(1)>',
  '<x onclick=alert(1) style="x:y">x</x>',
  '<a href="https://e.example" target="_self" rel="opener" ping="https://evil.example">x</a>',
]

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
  walkHtml(html, {
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
    '<div>'.repeat(600_000),
    '<b>'.repeat(400_000) + '</i>'.repeat(400_000),
    `<a ${'x=y '.repeat(700_000)}>`,
    `<p title="${'x'.repeat(3_000_000)}">x`,
    '<'.repeat(2_000_000),
    '<!--'.repeat(700_000),
    '&amp'.repeat(700_000),
    '<table><tr><td>'.repeat(150_000),
    `<p style="${'/*'.repeat(8_000)}">`.repeat(180),
    `<style>${'/*'.repeat(1_000_000)}</style><p class=a>`,
    `<style>${'.a{color:red}'.repeat(200_000)}</style>${'<p class=a>'.repeat(50_000)}`,
  ]
  for (const page of pages) {
    const before = process.threadCpuUsage()
    clean(page)
    const { user, system } = process.threadCpuUsage(before)
    assert((user + system) / 1000 < 4_000, `${page.slice(0, 20)} took ${(user + system) / 1000} ms`)
  }
})

test('a page that is too large is cut, and still whole', () => {
  const { html, isCut } = sanitiseHtml(`<div><p>${'word '.repeat(900_000)}</p><p>end</p></div>`)
  assert.equal(isCut, true)
  assert(html.length < 4_000_000)
  assert.equal(clean(html), html)
})
