# SPDX-License-Identifier: Apache-2.0
"""
The web view of `yett serve`, in a headless Chromium that clicks and types, as the ordinary user whose sandboxes they are.

Chromium keeps its own sandbox, of user namespaces. A picture of each page is kept in pictures/ of the build tree.
"""
import json
import os
import re
import signal
import unittest

import agent
import browser
import serving
import yett

BUILD = os.environ.get('YETT_BUILD_ROOT', os.path.join(yett.SOURCE, 'build'))
PAGES = ('sandboxes', 'executions', 'events', 'denied', 'run', 'policy')
MOUNT = "python3 -c 'import ctypes; ctypes.CDLL(None).mount(0, 0, 0, 0, 0)'"  # a system call that sandboxes are denied
COUNT = 'echo begun; i=0; while sleep 0.1; do i=$((i+1)); echo line $i; done'

POLICY = '''
profile "views" {
  extends = "default"
  network = limited
  allow = {"*.view.example"}
  deny = {"secret.view.example"}
}
grant "views" {
  users = {"%s", "root"}
  user_keys = true
  profiles = {"default", "views"}
  network = limited
  linger_max = 1h
  max_memory = 4G
}
'''

# What would be seen of it, if any of this were more than text: a variable, an element, a title, a colour, what was written before is gone.
HOSTILE = ('<img src=x onerror="window.hit=1"><script>window.hit=2</script><b id=bold>', '\033]0;title\a', '\033[31mred\033[0m', '\033[2J', '\u202etxt.exe',
           'a\rb', '\x9b31m', '\x00', '\b', '</pre></section><h1>')
SHOWN = ('<img src=x onerror="window.hit=1"><script>window.hit=2</script><b id=bold>', '⟨ESC⟩]0;title⟨BEL⟩', '⟨ESC⟩[31mred⟨ESC⟩[0m', '⟨ESC⟩[2J',
         '⟨U+202E⟩txt.exe', 'a⟨CR⟩b', '⟨U+009B⟩31m', '\ufffd', '⟨BS⟩', '</pre></section><h1>')


# A person's own page shows all that the person has, and asks for what the policy allows.
BOUNDS = ('--sandboxes', 'all', '--rw', '/', '--net', 'open', '--profile', 'default', '--profile', 'strict', '--profile', 'views')


class Shared(agent.Users):
    """The service, and alice's server and browser, of all classes: a browser takes seconds to start."""

    page = None

    @classmethod
    def setUpClass(cls):
        cls.service_options = {'before': POLICY % yett.run_of_process().user(1).name}
        super().setUpClass()
        cls.server = serving.Server(cls.service, cls.alice, tcp=True, bounds=BOUNDS)
        cls.addClassCleanup(cls.server.end)
        cls.page = browser.Browser(cls.alice)
        cls.addClassCleanup(cls.page.close)
        os.makedirs(os.path.join(BUILD, 'pictures'), exist_ok=True)


class Case(yett.Case):
    """One browser, which is shown the page anew for each test."""

    @classmethod
    def setUpClass(cls):
        if not Shared.page:
            unittest.addModuleCleanup(Shared.doClassCleanups)
            Shared.setUpClass()
        cls.service, cls.alice, cls.bob, cls.server, cls.page = Shared.service, Shared.alice, Shared.bob, Shared.server, Shared.page

    def setUp(self):
        self.addCleanup(self.end_all)
        self.page.resize(1280, 860)
        self.page.prefer(prefers_color_scheme='light')
        self.server.process.send_signal(signal.SIGUSR1)  # each address is good for one browser, once
        self.open(self.server.next_url())

    def tearDown(self):
        """Nothing was refused by the page's own Content-Security-Policy, and nothing failed but what the server refused."""
        self.assertEqual([line for line in self.page.console() if not re.search(r'/v1/\S+ - Failed to load resource|^\w+ chrome:', line)], [])

    def open(self, url):
        self.page.open(url)
        self.page.wait('#connection', '^Connected$')

    def end_all(self):
        for name in self.yett('ps', '--quiet').out.split():
            self.yett('destroy', name)

    def go(self, page):
        self.page.click('nav a[data-page="%s"]' % page)
        self.page.wait('#%s-title' % page)

    def keep_picture(self, name):
        self.page.picture(os.path.join(BUILD, 'pictures', 'view-%s.png' % name))

    def state(self, name):
        listed = json.loads(self.yett('ps', '--json').out)
        return next((sandbox['state'] for sandbox in listed['result']['sandboxes'] if sandbox['name'] == name), None)

    def row(self, name):
        return '#sandboxes tr[data-id="%s"]' % self.id_of(name)

    def id_of(self, name):
        listed = json.loads(self.yett('ps', '--json').out)
        return next(sandbox['id'] for sandbox in listed['result']['sandboxes'] if sandbox['name'] == name)

    def make_sandbox(self, name, profile=''):
        self.go('policy')
        self.page.write('#policy-form [name="profile"]', profile)
        self.page.write('#policy-form [name="name"]', name)
        self.page.click('#policy-make')
        self.page.wait('#sandbox-title', '^%s$' % name)

    def choose_sandbox(self, name):
        select, wanted = '#run-form [name="sandbox"]', self.id_of(name)
        option = '%s option[value="%s"]' % (select, wanted)
        yett.wait_until(lambda: self.page.run('return document.querySelector(arguments[0]) !== null', option), 'the sandbox among the choices')
        self.page.choose(select, wanted)

    def start(self, command, sandbox=None):
        """Starts a command by the form, which watches it."""
        self.go('run')
        self.page.click('#run-form [name="what"][value="command"]')
        self.page.write('#run-form [name="command"]', command)
        if sandbox:
            self.choose_sandbox(sandbox)
        self.page.click('#run-form [type="submit"]')
        self.page.wait('#run-watch .badge', 'pending|running|completed|failed')

    def wait_denied(self, *patterns):
        """The row of what was denied in which all of them are, in any order."""
        self.go('denied')
        return self.page.wait('#denied tbody tr', ''.join('(?=.*%s)' % pattern for pattern in patterns))


class View(Case):
    def test_a_command_is_started_watched_and_killed(self):
        self.start(COUNT)
        self.page.wait('#run-watch .output', 'begun.*line 3\n')
        self.page.wait('#run-watch .badge', '^running$')
        self.page.wait('#executions-count', '^1 running$')
        self.page.wait('#run-watch .output', 'line 6\n')
        self.keep_picture('run')
        self.page.click('#run-watch .danger')
        self.page.wait('#run-watch .badge', '^killed$')
        self.page.wait('#run-watch .watch-head', 'killed on request')
        self.page.wait('#run-watch .danger', absent=True)
        self.page.wait('#executions-count', 'running', absent=True)

    def test_what_was_run_is_listed_and_shown_again(self):
        self.start('echo out; echo err >&2; exit 3')
        self.page.wait('#run-watch .badge', '^failed$')
        self.go('executions')
        self.page.wait('#executions tbody tr', 'echo out.*failed')
        self.keep_picture('executions')
        self.page.click('#executions tbody a')
        self.page.wait('#execution-watch .output .out', '^out\n?$')
        self.page.wait('#execution-watch .output .err', '^err\n?$')
        self.page.wait('#execution-watch .watch-head', 'exit status\\s+3')
        self.keep_picture('execution')

    def test_a_command_is_given_what_it_reads(self):
        self.go('run')
        self.page.click('#run-form summary')
        self.page.click('#run-form [name="what"][value="command"]')
        self.page.click('#run-form [name="keep"]')
        self.start('while read -r line; do echo "heard $line"; done; echo over')
        self.page.wait('#run-watch .input-line button')
        self.page.write('#run-watch .input-line input', 'first')
        self.page.click('#run-watch .input-line [type="submit"]')
        self.page.wait('#run-watch .output', 'heard first\n')
        self.page.click('#run-watch .input-line [type="button"]')
        self.page.wait('#run-watch .output', 'over')
        self.page.wait('#run-watch .badge', '^completed$')

    def test_code_is_run_and_what_it_has_stays_where_that_is_wanted(self):
        self.make_sandbox('box')
        self.go('run')
        self.page.click('#run-form [name="what"][value="code"]')
        self.choose_sandbox('box')
        self.page.choose('#run-form [name="language"]', 'python')
        self.page.click('#run-form [name="kept"]')
        self.page.write('#run-form [name="code"]', 'kept = 40')
        self.page.click('#run-form [type="submit"]')
        self.page.wait('#run-watch .badge', '^completed$')
        self.page.write('#run-form [name="code"]', 'print("it is", kept)\nkept + 2')
        self.page.click('#run-form [type="submit"]')
        self.page.wait('#run-watch .output', 'it is 40')
        self.page.wait('#run-watch .watch-head', 'language\\s+python.*value\\s+42')

    def test_the_languages_are_those_that_there_are(self):
        offered = self.page.run('return [...document.querySelectorAll("#run-form [name=language] option")].map(e => e.value)')
        for language in offered:
            answer = self.server.call('run_code', language=language, ensure=True).json
            self.assertNotEqual(answer.get('error', {}).get('code'), 'invalid-request', answer)
        unknown = self.server.call('run_code', language='nothing', code='x').json['error']
        self.assertEqual(re.findall(r'[a-z+]+(?=,|$)', unknown['message'] + unknown.get('detail', ''))[-len(offered):], offered, unknown)

    def test_a_sandbox_is_made_paused_resumed_and_ended(self):
        self.make_sandbox('box')
        self.start(COUNT, 'box')
        self.page.wait('#run-watch .output', 'line 3\n')
        self.go('sandboxes')
        row = self.row('box')
        self.page.wait(row + ' .badge', 'running')
        self.page.click(row + ' [data-act="pause"]')
        self.page.wait(row + ' .badge', 'paused')
        self.assertEqual(self.state('box'), 'paused')
        self.page.click(row + ' [data-act="resume"]')
        self.page.wait(row + ' .badge', 'running')
        self.assertEqual(self.state('box'), 'running')
        self.page.click(row + ' [data-act="kill"]')
        self.page.wait('#toast', 'box has no commands left')
        self.page.wait('#executions-count', 'running', absent=True)
        self.assertEqual(self.state('box'), 'running')
        self.page.click(row + ' [data-act="end"]')
        self.page.wait('#confirm h2', 'End box')
        self.page.click('#confirm [value="no"]')
        self.page.wait('#confirm h2', absent=True)
        self.assertEqual(self.state('box'), 'running')
        self.page.click(row + ' [data-act="end"]')
        self.page.click('#confirm-yes')
        self.page.wait(row, absent=True)
        self.assertIsNone(self.state('box'))

    def test_what_a_sandbox_uses_is_told_and_plotted(self):
        self.make_sandbox('box')
        self.start("exec python3 -c 'b = bytearray(96 << 20)\nwhile True: pass'", 'box')
        self.go('sandboxes')
        row = self.row('box')
        self.page.wait(row, r'\b(9\d|1[0-4]\d)(\.\d)? MiB of 2\.0 GiB')
        self.page.wait(row, r'\b[1-9]\d* %')
        for plot, unit in (('cpu', '%'), ('memory', 'MiB')):
            points = "return document.querySelector('#plot-%s .plot-line')?.getAttribute('d').split('L').length ?? 0" % plot
            yett.wait_until(lambda script=points: self.page.run(script) > 4, 'a line of the plot')
            self.page.wait('#plot-%s .plot-value' % plot, unit)
        self.keep_picture('sandboxes')
        self.page.run("document.querySelector('#plot-memory .plot-field').focus()")
        self.page.press('Left')
        self.page.wait('#plot-memory .plot-value', r'MiB at \d\d:\d\d:\d\d')
        self.assertIn(' at ', self.page.run("return document.querySelector('#plot-memory .plot-field').getAttribute('aria-valuetext')"))
        self.page.click(row + ' a')
        self.page.wait('#sandbox-facts', 'Profile\\s+default')
        self.page.wait('#sandbox-usage', 'Memory at most')
        self.page.wait('#sandbox-events tbody tr', 'started')
        self.keep_picture('sandbox')

    def test_sandboxes_and_events_of_others_programs_are_seen(self):
        self.go('sandboxes')
        self.assertEqual(self.yett('create', '--name', 'elsewhere').code, 0)
        self.page.wait('#sandboxes tbody', 'elsewhere')
        self.page.wait('#sandboxes-count', '^1$')
        self.go('events')
        self.page.wait('#events tbody tr', 'elsewhere.*followed')
        self.assertEqual(self.yett('exec', 'elsewhere', '--', 'true').code, 0)
        self.page.wait('#events tbody tr', 'elsewhere.*exited.*with status 0')
        self.assertEqual(self.yett('pause', 'elsewhere').code, 0)
        self.page.wait('#events tbody tr', 'elsewhere.*paused')
        self.page.run("document.querySelector('#announce').textContent = ''")
        self.assertEqual(self.yett('resume', 'elsewhere').code, 0)
        yett.wait_until(lambda: self.page.run("return document.querySelector('#announce').textContent").endswith('resumed'), 'the announcement')
        self.keep_picture('events')
        self.page.choose('#events-filter [name="kind"]', 'paused')
        self.page.wait('#events tbody tr', 'exited', absent=True)
        self.assertEqual(len([text for text in self.page.texts('#events tbody tr') if 'elsewhere' in text]), 1)
        self.page.choose('#events-filter [name="kind"]', '')
        self.page.click('#events-hold')
        held = self.page.texts('#events tbody tr')
        self.assertEqual(self.yett('pause', 'elsewhere').code, 0)
        self.go('sandboxes')
        self.page.wait('#sandboxes tbody .badge', 'paused')
        self.go('events')
        self.assertEqual(self.page.texts('#events tbody tr'), held)
        self.page.click('#events-hold')
        yett.wait_until(lambda: len(self.page.texts('#events tbody tr')) == len(held) + 1, 'what was held')

    def test_what_was_denied_is_listed_with_its_reason(self):
        self.make_sandbox('box', 'views')
        self.start(MOUNT + '; getent hosts other.example; getent hosts secret.view.example', 'box')
        self.wait_denied('box', 'System call mount', 'rules for system calls')
        self.wait_denied('box', r'Connection to other\.example', 'no rule allows it')
        self.wait_denied('box', r'Connection to secret\.view\.example', 'a rule denies it', r'yett\.conf:%d' % self.service.line('deny = {"secret.view'))
        self.start('true')  # of the profile that was not granted
        self.go('run')
        self.page.click('#run-form summary')
        self.page.choose('#run-form [name="sandbox"]', '')
        self.page.write('#run-form [name="profile"]', 'strict')
        self.page.click('#run-form [type="submit"]')
        self.page.wait('#run-watch .verdict', 'Refused.*Rule\\s+profiles of grant')
        self.wait_denied('a request', 'profiles', r'yett\.conf:\d+')
        self.keep_picture('denied')

    def test_the_policy_answers_what_it_is_asked(self):
        self.go('policy')
        self.page.write('#policy-form [name="profile"]', 'views')
        self.page.click('#policy-form [type="submit"]')
        answer = self.page.wait('#policy-answer .yes', 'Allowed')
        for text in ('Memory\\s+2.0 GiB', r'Network\s+limited.*\*\.view\.example', r'yett\.conf:%d' % self.service.line('grant "views"'), '512'):
            self.assertRegex(answer.replace('\n', ' '), text)
        self.page.click('#policy-answer summary')
        self.page.wait('#policy-answer li', 'user-namespace')
        self.page.click('#policy-share-add')
        self.page.write('#policy-shares [name="path"]', '/var/lib')
        self.page.choose('#policy-shares [name="mode"]', 'rw')
        self.page.click('#policy-form [type="submit"]')
        answer = self.page.wait('#policy-answer .no', 'Refused')
        for text in ('Rule\\s+share_rw', r'Where\s+\S*yett\.conf:\d+', 'Asked\\s+/var/lib', 'Allowed', 'smallest change.*share_rw.*/var/lib'):
            self.assertRegex(answer.replace('\n', ' '), text)
        self.keep_picture('policy')
        self.assertEqual(self.yett('ps', '--quiet').out, '')

    def test_what_sandboxes_write_is_text_and_nothing_else(self):
        label = 'note=' + HOSTILE[0]
        self.assertEqual(self.yett('create', '--name', 'box', '--label', label).code, 0)
        self.page.wait('#sandboxes tbody tr', 'box')
        self.page.click('#sandboxes tbody a')
        self.page.wait('#sandbox-facts', re.escape(label))
        title = self.page.run('return document.title')
        hostile = self.alice.write('hostile', ''.join(text + '\n' for text in HOSTILE))
        with open(hostile, 'rb') as file:
            octal = ''.join('\\%03o' % byte for byte in file.read())
        self.start(": '%s'; printf '%s'" % (HOSTILE[0], octal), 'box')
        self.page.wait('#run-watch .badge', '^completed$')
        self.page.wait('#run-watch .output', '<h1>\n')
        shown = self.page.run("return document.querySelector('#run-watch .output').textContent")
        self.assertEqual(shown.split('\n')[:-1], list(SHOWN))
        self.keep_picture('hostile')
        self.go('executions')
        self.page.wait('#executions tbody tr', re.escape(HOSTILE[0][:30]))
        self.page.click('#executions tbody a')
        self.page.wait('#execution-watch .asked', re.escape('<script>window.hit=2</script>'))
        for page in PAGES:
            self.go(page)
            self.assertEqual(self.page.run('return [window.hit ?? null, document.querySelector("main img, main script, #bold, pre h1, pre b")]'), [None, None])
        self.assertNotEqual(title, 'title')
        self.assertNotIn('title', self.page.run('return document.title'))

    def test_output_without_end_neither_fills_nor_stops_the_page(self):
        self.start('yes "a line that is written again and again"')
        self.page.wait('#run-watch .cut', 'left out')
        shown = 'return document.querySelector("#run-watch .output").textContent'
        for _ in range(20):
            self.assertLess(len(self.page.run(shown)), 200000)
        self.page.click('#run-watch .danger')
        self.page.wait('#run-watch .badge', '^killed$')
        self.assertRegex(self.page.run(shown), r'(a line that is written again and again\n){1000}')

    def test_nothing_comes_from_elsewhere_and_nothing_is_inline(self):
        here = 'http://127.0.0.1:%d/' % self.server.port
        loaded = self.page.run("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertIn(here + 'style.css', loaded)
        self.assertEqual([name for name in loaded if not name.startswith(here)], [])
        policy = self.page.run("return fetch('/').then(answer => answer.headers.get('content-security-policy'))")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn('unsafe', policy)
        # The policy holds, so that a mistake of the page would do nothing either: what is inline does not run, and is told of.
        wrong = ("document.body.append(document.createRange().createContextualFragment('<script>window.hit = 1</script>'))",
                 "document.body.innerHTML = 'x'", "const s = document.createElement('script'); s.text = 'window.hit = 2'; document.body.append(s)",
                 "document.body.setAttribute('onclick', 'window.hit = 3'); document.body.click()", "setTimeout('window.hit = 4')",
                 "document.body.setAttribute('style', 'color: red')")
        done = [self.page.run("try { %s; return '' } catch (error) { return error.name }" % script) for script in wrong]
        self.assertEqual(done, ['TypeError'] * 5 + [''])
        self.assertIsNone(self.page.run('return window.hit ?? null'))
        self.assertEqual(len([line for line in self.page.console() if 'The action has been blocked' in line]), len(wrong))


class Keyboard(Case):
    def focused(self):
        return self.page.run('return document.activeElement.outerHTML')

    def tab_to(self, pattern):
        """Goes on from where the focus is until it is on what looks like this: all that is on the way can be left."""
        for _ in range(60):
            self.page.press('Tab')
            if re.search(pattern, self.focused()):
                return
        raise AssertionError('%r is not reached; last was %s' % (pattern, self.focused()))

    def test_all_can_be_done_by_keys_alone(self):
        self.page.press('6')
        self.page.wait('#policy-title')
        self.tab_to('name="name"')
        self.page.type('box')
        self.tab_to('id="policy-make"')
        self.page.press('Enter')
        self.page.wait('#sandbox-title', '^box$')
        self.page.press('p')
        self.page.wait('#sandbox-actions', 'Resume')
        self.assertEqual(self.state('box'), 'paused')
        self.page.press('1')
        self.page.wait('#sandboxes tbody tr', 'box')
        self.page.press('j')
        self.assertIn('>box<', self.focused())
        self.page.press('p')
        self.page.wait('#sandboxes tbody .badge', 'running')
        self.page.press('n')
        self.page.wait('#run-title')
        self.tab_to('value="code"')
        self.page.press('Right')
        self.tab_to('name="command"')
        self.page.type('echo typed; sleep 1000')
        self.page.press('Enter', holding='Control')
        self.page.wait('#run-watch .output', 'typed')
        self.tab_to('>Kill<')
        self.page.press('Enter')
        self.page.wait('#run-watch .badge', '^killed$')
        self.page.press('1')
        self.page.wait('#sandboxes tbody tr', 'box')
        self.page.press('j', 'e')
        self.page.wait('#confirm h2', 'End box')
        self.assertIn('Cancel', self.focused())
        self.page.press('Tab', 'Enter')
        self.page.wait('#sandboxes-empty')
        self.assertIsNone(self.state('box'))

    def test_the_focus_is_seen_and_the_keys_are_told(self):
        self.page.press('Tab')
        self.assertIn('Skip to the content', self.focused())
        self.page.press('Tab')
        self.assertEqual(self.page.run('return getComputedStyle(document.activeElement).outlineStyle'), 'solid')
        self.page.press('?')
        keys = self.page.wait('#help', 'Keys')
        for key in ('j', 'k', 'p', 'x', 'e', '/', 't', '?'):
            self.assertIn(key, self.page.texts('#keys kbd'))
        self.assertIn('Pause or resume', keys)
        self.keep_picture('keys')
        self.page.press('Escape')
        self.page.wait('#help', absent=True)

    def test_single_keys_can_be_switched_off_and_never_count_in_text(self):
        self.page.press('5')
        self.page.wait('#run-title')
        self.tab_to('name="code"')
        self.page.type('1?')
        self.assertEqual(self.page.run('return document.querySelector("[name=code]").value'), '1?')
        self.assertEqual(self.page.texts('#help'), [])
        self.page.click('#help-open')
        self.page.click('#keys-on')
        self.page.press('Escape')
        self.page.wait('#help', absent=True)
        self.page.run('document.activeElement.blur()')
        self.page.press('1')
        self.assertEqual(self.page.texts('#run-title'), ['Run'])
        self.page.click('#help-open')
        self.page.click('#keys-on')
        self.page.press('Escape')
        self.page.wait('#help', absent=True)
        self.page.press('1')
        self.page.wait('#sandboxes-title')

    def test_the_focus_stays_while_what_is_shown_changes(self):
        self.make_sandbox('box')
        self.go('sandboxes')
        self.page.wait(self.row('box') + ' .badge', 'running')
        self.page.run('document.querySelector(arguments[0]).focus()', self.row('box') + ' [data-act="pause"]')
        self.page.press('Enter')
        self.page.wait(self.row('box') + ' .badge', 'paused')
        self.assertIn('data-act="resume"', self.focused())
        self.page.press('Enter')
        self.page.wait(self.row('box') + ' .badge', 'running')
        self.assertEqual(self.state('box'), 'running')


class Looks(Case):
    def go(self, page):
        """Without the mouse, whose click takes many frames: what is of interest is how each page looks."""
        self.page.run('document.querySelector(arguments[0]).click()', 'nav a[data-page="%s"]' % page)
        self.page.wait('#%s-title' % page)

    def fill_pages(self):
        self.make_sandbox('a-sandbox-with-a-name-of-some-length', 'views')
        self.start(MOUNT + '; getent hosts a-name-of-some-length.example; echo %s; sleep 1000' % ('x' * 200), 'a-sandbox-with-a-name-of-some-length')
        self.page.wait('#run-watch .output', 'xxx')
        self.wait_denied('mount')
        self.go('policy')
        self.page.click('#policy-share-add')
        self.page.write('#policy-shares [name="path"]', '/var/lib')
        self.page.choose('#policy-shares [name="mode"]', 'rw')
        self.page.click('#policy-form [type="submit"]')
        self.page.wait('#policy-answer .no')

    def test_narrow_screens_need_no_scrolling_sideways(self):
        self.fill_pages()
        self.page.resize(360, 740)
        for page in PAGES:
            self.go(page)
            self.assertLessEqual(self.page.run('return document.documentElement.scrollWidth'), 360, page)
            outside = self.page.run('return [...document.querySelectorAll("main :is(a, button, input, select, textarea, td, th, h1)")]'
                                    '.filter(e => e.checkVisibility() && e.closest("thead") === null && e.getBoundingClientRect().right > 361)'
                                    '.map(e => e.outerHTML)')
            self.assertEqual(outside, [], page)
            self.keep_picture('narrow-' + page)
        self.go('sandboxes')
        self.page.click('#sandboxes [data-act="pause"]')
        self.page.wait('#sandboxes .badge', 'paused')
        # What lies under each other still is a table for those who do not see it.
        roles = self.page.run('return [...document.querySelectorAll("#sandboxes, #sandboxes tbody, #sandboxes tbody tr, #sandboxes tbody td")]'
                              '.map(e => e.getAttribute("role"))')
        self.assertEqual(set(roles), {'table', 'rowgroup', 'row', 'cell'})

    def ground(self):
        red, green, blue = re.findall(r'\d+', self.page.run('return getComputedStyle(document.documentElement).backgroundColor'))[:3]
        return 'light' if int(red) + int(green) + int(blue) > 382 else 'dark'

    def test_colours_follow_the_system_or_the_switch(self):
        self.assertEqual(self.ground(), 'light')
        self.page.prefer(prefers_color_scheme='dark')
        self.assertEqual(self.ground(), 'dark')
        self.fill_pages()
        for page in PAGES:
            self.go(page)
            self.keep_picture('dark-' + page)
        self.page.click('#theme')  # light
        self.assertEqual(self.ground(), 'light')
        self.open('http://127.0.0.1:%d/' % self.server.port)
        self.assertEqual(self.ground(), 'light')
        self.page.prefer(prefers_color_scheme='light')
        self.page.click('#theme')  # dark
        self.assertEqual(self.ground(), 'dark')
        self.page.click('#theme')  # as the system has it
        self.assertEqual(self.ground(), 'light')

    def contrasts(self):
        """Of each text that is shown the contrast with what is behind it: WCAG 2.2, 1.4.3."""
        return self.page.run('''
            const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
            const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
            const light = (c) => c.slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
                .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
            const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
            const found = [];
            for (const e of document.querySelectorAll("body *")) {
                if (!e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || e.closest(".unseen, .is-new")) continue;
                const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
                const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
                if (ratio < 4.5) found.push([e.outerHTML.slice(0, 120), ratio]);
            }
            return found;''')

    def test_texts_stand_out_from_what_is_behind_them(self):
        self.fill_pages()
        for scheme in ('light', 'dark'):
            self.page.prefer(prefers_color_scheme=scheme)
            for page in PAGES:
                self.go(page)
                self.assertEqual(self.contrasts(), [], (scheme, page))

    def test_who_wants_no_motion_gets_none(self):
        self.page.prefer(prefers_reduced_motion='reduce')
        self.assertEqual(self.yett('create', '--name', 'box').code, 0)
        self.go('events')
        self.page.wait('#events tbody tr', 'box')
        self.assertEqual(self.page.run('return document.getAnimations().length'), 0)


class Away(Case):
    def test_it_says_so_while_the_server_is_away_and_goes_on_afterwards(self):
        self.make_sandbox('box')
        self.go('events')
        self.page.wait('#events tbody tr', 'box.*followed')
        self.page.cut_off()
        self.page.wait('#lost', 'does not answer')
        self.page.wait('#connection', 'Not connected')
        self.keep_picture('lost')
        self.assertEqual(self.yett('pause', 'box').code, 0)
        box = self.id_of('box')
        yett.wait_until(lambda: any(event['kind'] == 'paused' for event in self.server.call('events', sandbox=box).json['events']), 'the event at the server')
        self.page.connect_again()
        self.page.wait('#connection', '^Connected$')
        self.page.wait('#lost', absent=True)
        self.page.wait('#events tbody tr', 'box.*paused')  # what it missed has come, too
        self.assertEqual(len([text for text in self.page.texts('#events tbody tr') if re.search('box.*followed', text)]), 1)  # and nothing twice
        self.page.console()  # what could not be asked meanwhile

    def test_a_server_that_was_started_anew_wants_another_address(self):
        server = serving.Server(self.service, self.alice, tcp=True, bounds=BOUNDS)
        self.open(server.url)
        server.end()
        self.page.wait('#lost', 'does not answer')
        server = serving.Server(self.service, self.alice, '--port', str(server.port), tcp=True, bounds=BOUNDS)
        self.addCleanup(server.end)
        self.page.wait('#lost', 'Open the address that')
        self.open(server.url)
        self.page.wait('#lost', absent=True)
        self.page.console()

    def test_it_says_so_when_the_helper_cannot_be_asked(self):
        self.make_sandbox('box')
        os.rename(self.service.socket, self.service.socket + '.away')
        self.addCleanup(lambda: os.path.exists(self.service.socket + '.away') and os.rename(self.service.socket + '.away', self.service.socket))
        server = serving.Server(self.service, self.alice, tcp=True, bounds=BOUNDS)
        self.addCleanup(server.end)
        self.open(server.url)
        self.page.wait('#lost', 'Cannot get the list of sandboxes')
        os.rename(self.service.socket + '.away', self.service.socket)
        self.page.wait('#lost', absent=True)
        self.page.wait('#sandboxes tbody tr', 'box')
        self.page.console()


class Root(Case):
    """Its server answers browsers of root's only, and those Chromium starts without its own sandbox, or not at all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = yett.Root(cls.service.folder)
        cls.server = serving.Server(cls.service, cls.root, tcp=True, bounds=BOUNDS)
        cls.addClassCleanup(cls.server.end)
        cls.page = browser.Browser(cls.root, arguments=['--no-sandbox'])
        cls.addClassCleanup(cls.page.close)

    def test_root_sees_the_sandboxes_of_all_users(self):
        self.assertEqual(self.yett('create', '--name', 'alices').code, 0)
        self.page.wait('#sandboxes tbody tr', 'alices')
        self.page.click('#sandboxes tbody a')
        self.page.wait('#sandbox-facts', 'User id\\s+%d' % self.alice.uid)
        self.page.click('#sandbox-actions [data-act="pause"]')
        self.page.wait('#sandbox-facts', 'State\\s+paused')
        self.assertEqual(self.state('alices'), 'paused')


if __name__ == '__main__':
    yett.main()
