import assert from 'node:assert/strict'
import test from 'node:test'
import { linesToText, readHtml, textOfHtml } from './html-text.ts'

test('a page is read as a reader sees it', () => {
  const pages: [html: string, text: string][] = [
    ['<p>one</p><p>two<br>three</p>', 'one\n\ntwo\nthree'],
    ['<div>one</div><div>two</div>', 'one\ntwo'],
    ['a  <b> b</b>\n c&nbsp;d &amp; &lt;e&gt; &eacute;', 'a b c d & <e> é'],
    ['<ul><li>one<li>two</ul>after', '- one\n- two\n\nafter'],
    ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
    ['<pre>  a\n    b</pre>', '  a\n    b'.trim()],
    [
      '<a href="https://e.example/x">here</a> <a href="https://e.example">e.example</a>',
      'here <https://e.example/x> e.example',
    ],
    ['<a href="javascript:x">no</a> <a href="mailto:a@e.example">write</a>', 'no write'],
    ['<img src="cid:x" alt="Logo"> hi', '[Logo] hi'],
    [
      '<blockquote type="cite">old<blockquote type="cite">older</blockquote></blockquote>new',
      '> old\n>>\n>> older\n\nnew',
    ],
    ['<title>t</title><style>p{}</style><script>s</script><!-- c --><p>x', 'x'],
    ['<head><title>t</title><body><p>x', 'x'],
    ['no tags', 'no tags'],
    ['', ''],
  ]
  for (const [html, text] of pages) assert.equal(textOfHtml(html), text, html)
})

/** Each hides the word `secret`, and nothing else. */
const HIDING = [
  '<p style="display:none">secret</p>',
  '<p style="DISPLAY : NONE !important">secret</p>',
  '<p style="d\\69splay:none">secret</p>',
  '<p style="display:/* x */none">secret</p>',
  '<p style="visibility:hidden">secret</p>',
  '<p hidden>secret</p>',
  '<p style="opacity:0">secret</p>',
  '<p style="opacity:0.01">secret</p>',
  '<p style="filter:alpha(opacity=0)">secret</p>',
  '<p style="font-size:0">secret</p>',
  '<p style="font-size:1px">secret</p>',
  '<p style="font:0px/0 arial">secret</p>',
  '<p style="font-size:50%"><span style="font-size:0.1em">secret</span></p>',
  '<p style="color:#ffffff">secret</p>',
  '<p style="color:white;background-color:#fefefe">secret</p>',
  '<p style="color:rgba(0,0,0,0)">secret</p>',
  '<p style="color:transparent">secret</p>',
  '<font color="#FFFFFF">secret</font>',
  '<table bgcolor="#003366"><tr><td><font color="#003366">secret</font></td></tr></table>',
  '<div style="background:#222 none"><span style="color:rgb(34, 34, 34)">secret</span></div>',
  '<div style="height:0;overflow:hidden">secret</div>',
  '<div style="max-height:0px;max-width:0px;overflow:hidden;mso-hide:all">secret</div>',
  '<div style="position:absolute;left:-9999px">secret</div>',
  '<div style="position:fixed;top:-100em">secret</div>',
  '<div style="text-indent:-9999px">secret</div>',
  '<div style="margin-left:-9999px">secret</div>',
  '<div style="position:absolute;clip:rect(0,0,0,0)">secret</div>',
  '<div style="clip-path:inset(100%)">secret</div>',
  '<div style="transform:scale(0)">secret</div>',
  '<style>.preheader{display:none}</style><p class="x preheader">secret</p>',
  '<p id="a">secret</p><style>#a { visibility: hidden }</style>',
  '<style>span.z{font-size:1px}</style><span class=z>secret</span>',
  '<template>secret</template>',
  '<iframe>secret</iframe>',
  '<textarea>secret</textarea>',
  '<div style="display:none"><p style="display:block">secret</p></div>',
  '<img alt="secret" style="display:none">',
]

test('every way to hide text is seen through', () => {
  for (const html of HIDING) {
    const { lines, hidden } = readHtml(`<p>before</p>${html}<p>after</p>`)
    assert.equal(hidden, 'secret', html)
    assert.equal(
      lines
        .map(({ text }) => text)
        .filter(Boolean)
        .join(' '),
      'before after',
      html,
    )
  }
})

/** All of it is seen. */
const SHOWING = [
  '<p style="color:#333;background:#fff">shown</p>',
  '<p style="color:white;background:#036">shown</p>',
  '<table bgcolor="black"><tr><td style="color:#fff">shown</td></tr></table>',
  '<p style="background:url(x.png);color:white;background-color:black">shown</p>',
  '<p style="font-size:8px">shown</p>',
  '<p style="opacity:.9">shown</p>',
  '<div style="visibility:hidden"><p style="visibility:visible">shown</p></div>',
  '<div style="font-size:0"><span style="font-size:14px">shown</span></div>',
  '<div style="height:0">shown</div>',
  '<style>@media print{p{display:none}}</style><p>shown</p>',
  '<style>.a .b{display:none}</style><p class=b>shown</p>',
  '<p aria-hidden="true">shown</p>',
]

test('text that is seen is not taken for hidden', () => {
  for (const html of SHOWING) assert.deepEqual([textOfHtml(html), readHtml(html).hidden], ['shown', ''], html)
})

test('what a page hides is read up to a bound', () => {
  assert.equal(readHtml(`<p style="display:none">${'x'.repeat(100_000)}`).hidden.length, 64_000)
})

test('comments and the title are kept apart from what is shown and what is hidden', () => {
  const { lines, hidden, unshown } = readHtml('<title>Offer</title><p>before</p><!-- note <b>two</b> --><p>after</p>')
  assert.deepEqual([linesToText(lines), hidden, unshown], ['before\n\nafter', '', 'Offer\n\nnote <b>two</b>'])
  assert.equal(readHtml(`<!--${'x'.repeat(100_000)}-->`).unshown.length, 64_000)
})

test('long lines of many pieces are read in one pass', () => {
  const pages = [
    '<b>a</b>'.repeat(400_000),
    '<a href="https://e.example/">x</a>'.repeat(100_000),
    '<i>'.repeat(800_000),
    '<td>x'.repeat(400_000),
  ]
  for (const page of pages) {
    const before = process.threadCpuUsage()
    readHtml(page)
    const { user, system } = process.threadCpuUsage(before)
    assert((user + system) / 1000 < 3_000, `${page.slice(0, 20)} took ${(user + system) / 1000} ms`)
  }
})
