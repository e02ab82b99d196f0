# SPDX-License-Identifier: Apache-2.0
"""
A headless Chromium that tests drive through chromedriver: W3C WebDriver, spoken over HTTP (https://www.w3.org/TR/webdriver2/).

It runs as the user who is given. Elements are told by CSS selectors. What is waited for is looked at whenever the page has changed.
"""
import base64
import http.client
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time

import yett

KEYS = {'Tab': '\ue004', 'Enter': '\ue007', 'Escape': '\ue00c', 'Space': ' ', 'Left': '\ue012', 'Up': '\ue013', 'Right': '\ue014', 'Down': '\ue015', 'Home': '\ue011',
        'Shift': '\ue008', 'Control': '\ue009'}
numbers = itertools.count()
ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'  # the name of a reference to one in answers

TYPED_MAX = 30  # characters that are typed; more come in at once, as by pasting: each key takes a few frames
TEXTS = 'const texts = (selector) => [...document.querySelectorAll(selector)].filter(e => e.checkVisibility()).map(e => e.innerText);'
# Answers with the texts once they are others than those that were seen, or after a second: what is shown can change without the document.
CHANGED = TEXTS + '''
const [selector, seen, done] = arguments;
let timer = null;
const finish = (found) => { observer.disconnect(); clearTimeout(timer); clearTimeout(last); done(found); };
const look = () => { timer = null; const found = texts(selector); if (JSON.stringify(found) !== JSON.stringify(seen)) finish(found); };
const observer = new MutationObserver(() => { timer ??= setTimeout(look, 20); });
const last = setTimeout(() => finish(texts(selector)), 1000);
observer.observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
look();
'''


class Refused(Exception):
    """The browser did not do what was asked."""


class Browser:
    def __init__(self, user, width=1280, height=860, arguments=()):
        """A window of that size, with a profile of its own in the user's home; `arguments` are further ones of Chromium's."""
        self.folder = user.mkdir('browser-%d' % next(numbers))
        self.log = self.folder + '/chromedriver.log'
        self.driver = user.popen(['chromedriver', '--port=0', '--log-path=' + self.log], cwd=self.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, text=True)
        self.session = None
        try:
            self.port = self.read_port()
            self.begin(width, height, arguments)
        except BaseException:
            self.close()
            raise

    def read_port(self):
        for line in self.driver.stdout:
            found = re.search(r'started successfully on port (\d+)', line)
            if found:
                return int(found.group(1))
        raise AssertionError('chromedriver did not start')

    def begin(self, width, height, arguments):
        arguments = [*arguments, '--headless=new', '--user-data-dir=%s/profile' % self.folder, '--window-size=%d,%d' % (width, height), '--no-first-run',
                     '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-default-apps']
        wanted = {'browserName': 'chrome', 'goog:chromeOptions': {'args': arguments}, 'goog:loggingPrefs': {'browser': 'ALL'}}
        self.session = self.ask('POST', '/session', {'capabilities': {'alwaysMatch': wanted}})['sessionId']
        self.do('POST', '/timeouts', {'script': yett.DEADLINE * 1000, 'pageLoad': yett.DEADLINE * 1000})
        self.resize(width, height)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=yett.DEADLINE)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {'Content-Type': 'application/json'})
            answer = json.loads(connection.getresponse().read())['value']
        finally:
            connection.close()
        if isinstance(answer, dict) and 'error' in answer and 'message' in answer:
            raise Refused('%s: %s' % (answer['error'], answer['message'].split('\n')[0]))
        return answer

    def do(self, method, path, body=None):
        return self.ask(method, '/session/%s%s' % (self.session, path), body)

    def close(self):
        if self.session:
            with yett.contextlib.suppress(OSError, Refused):
                self.ask('DELETE', '/session/' + self.session)
        with yett.contextlib.suppress(ProcessLookupError):
            os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait(yett.DEADLINE)
        self.driver.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- the page ---

    def open(self, url):
        self.do('POST', '/url', {'url': url})

    def run(self, script, *arguments):
        """What a function's body in JavaScript returns."""
        return self.do('POST', '/execute/sync', {'script': script, 'args': list(arguments)})

    def texts(self, selector):
        """The texts of the elements that are shown."""
        return self.run(TEXTS + 'return texts(arguments[0])', selector)

    def text(self, selector):
        return '\n'.join(self.texts(selector))

    def wait(self, selector, pattern='', absent=False):
        """What is shown at `selector`, once that is there and has the pattern; or, `absent`, once it has it no more."""
        seen, end = self.texts(selector), time.monotonic() + yett.DEADLINE
        while absent == any(re.search(pattern, text, re.S) for text in seen):
            if time.monotonic() > end:
                raise AssertionError('%s: %r %s in %d s: %r\n%s' % (selector, pattern, 'is still shown' if absent else 'was not shown', yett.DEADLINE, seen,
                                                                    self.console()))
            seen = self.do('POST', '/execute/async', {'script': CHANGED, 'args': [selector, seen]})
        return '\n'.join(seen)

    def element(self, selector):
        return self.do('POST', '/element', {'using': 'css selector', 'value': selector})[ELEMENT]

    def click(self, selector):
        self.do('POST', '/element/%s/click' % self.element(selector), {})

    def write(self, selector, text):
        element = self.element(selector)
        self.do('POST', '/element/%s/clear' % element, {})
        if len(text) <= TYPED_MAX:
            self.do('POST', '/element/%s/value' % element, {'text': text})
        else:
            self.run('document.querySelector(arguments[0]).focus()', selector)
            self.devtools('Input.insertText', text=text)

    def choose(self, selector, value):
        """One of a select's options, by its value: with keys, as somebody would without a mouse."""
        index = self.run('const s = document.querySelector(arguments[0]); s.focus(); return [...s.options].findIndex(o => o.value === arguments[1])',
                         selector, value)
        if index < 0:
            raise AssertionError('%s has no %r' % (selector, value))
        self.press('Home', *('Down',) * index)

    def press(self, *keys, holding=None):
        """Keys of the keyboard, by the names in KEYS or as characters; each `holding` another one."""
        actions = [{'type': 'keyDown', 'value': KEYS[holding]}] if holding else []
        for key in keys:
            actions += [{'type': kind, 'value': KEYS.get(key, key)} for kind in ('keyDown', 'keyUp')]
        actions += [{'type': 'keyUp', 'value': KEYS[holding]}] if holding else []
        self.do('POST', '/actions', {'actions': [{'type': 'key', 'id': 'keyboard', 'actions': actions}]})

    def type(self, text):
        self.press(*text)

    # --- the browser ---

    def resize(self, width, height):
        """The page, not the window, which is larger, and never as narrow as a telephone's."""
        self.devtools('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, **features):
        """Media features, as prefers_color_scheme='dark'."""
        self.devtools('Emulation.setEmulatedMedia', features=[{'name': name.replace('_', '-'), 'value': value} for name, value in features.items()])

    def devtools(self, command, **parameters):
        return self.do('POST', '/goog/cdp/execute', {'cmd': command, 'params': parameters})

    def cut_off(self):
        """All its connections break, and nothing more reaches a server until connect_again(): what is asked waits, or fails."""
        self.cookies = self.do('GET', '/cookie')
        self.devtools('Fetch.enable', patterns=[{'urlPattern': '*'}])
        found = [pid for pid in yett.processes() if any('NetworkService' in word for word in yett.argv_of(pid)) and self.folder in ' '.join(yett.argv_of(pid))]
        for pid in found:
            os.kill(pid, signal.SIGKILL)  # Chromium starts another one, which has no cookies of the session
        if not found:
            raise AssertionError('the process for the network is not found')

    def connect_again(self):
        for cookie in self.cookies:
            self.do('POST', '/cookie', {'cookie': cookie})
        self.devtools('Fetch.disable')

    def console(self):
        """What the browser wrote to its console since it was asked last."""
        return [entry['level'] + ' ' + entry['message'] for entry in self.do('POST', '/se/log', {'type': 'browser'})]

    def picture(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.do('GET', '/screenshot')))
