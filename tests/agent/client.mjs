// SPDX-License-Identifier: Apache-2.0
// A program with the SDK's client, as its documentation writes it: says what it saw, as JSON.
//
// Usage: client.mjs v1|legacy|auto|PIN COMMAND [ARGUMENT…]     or an address instead of COMMAND, and TOKEN
// v1: the SDK of @modelcontextprotocol/sdk. The others: that of @modelcontextprotocol/client, as it negotiates revisions.
import { setTimeout } from 'node:timers/promises';

// How long the tests wait for an event: tests/support/waiting.py.
const timeout = 1000 * Number(process.env.YETT_TEST_DEADLINE_S ?? 60);
const [mode, command, ...args] = process.argv.slice(2);
const isFirst = mode === 'v1';

const { Client, StdioClientTransport, StreamableHTTPClientTransport } = isFirst
  ? {
      ...(await import('@modelcontextprotocol/sdk/client/index.js')),
      ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
      ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    }
  : { ...(await import('@modelcontextprotocol/client')), ...(await import('@modelcontextprotocol/client/stdio')) };

function negotiation() {
  if (isFirst) return {};
  return { versionNegotiation: { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } } };
}

function makeTransport() {
  if (/^http:/.test(command))
    return new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${args[0]}` } } });
  return new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
}

const client = new Client({ name: 'yett-tests', version: '1' }, negotiation());
const transport = makeTransport();
await client.connect(transport, { timeout });

const call = (name, given, more) => {
  const options = { timeout, ...more };
  return isFirst ? client.callTool({ name, arguments: given }, undefined, options) : client.callTool({ name, arguments: given }, options);
};
const refusal = async (promise) => {
  try {
    return { answered: await promise };
  } catch (error) {
    return { code: error.code ?? null, name: error.name, message: error.message };
  }
};

const seen = {
  revision: isFirst ? transport._protocolVersion ?? null : client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion(),
  capabilities: client.getServerCapabilities(),
  instructions: client.getInstructions(),
};
seen.tools = (await client.listTools()).tools;
seen.written = await call('run_command', { command: 'echo out; echo err >&2' });
seen.failed = await call('run_command', { command: 'exit 3' });
seen.wrong = await call('run_command', { command: 7 });
seen.unknown = await refusal(call('nope', {}));

const made = await call('sandboxes', { action: 'make' });
const sandbox = made.structuredContent.sandbox.id;
await call('write_file', { sandbox, path: '/tmp/a b', content: 'é\n' });
seen.resources = (await client.listResources()).resources;
seen.templates = (await client.listResourceTemplates()).resourceTemplates;
seen.read = await client.readResource({ uri: `yett://${sandbox}/tmp/a%20b` });
seen.missing = await refusal(client.readResource({ uri: `yett://${sandbox}/tmp/nowhere` }));

seen.progress = [];
await new Promise((resolve, reject) => {
  // The command goes on until its progress was told twice.
  const command = 'until [ -e /tmp/told ]; do sleep 0.05; done';
  const onprogress = (told) => {
    if (seen.progress.push(told) === 2) call('write_file', { sandbox, path: '/tmp/told', content: '' }).catch(reject);
  };
  call('run_command', { command, sandbox }, { onprogress }).then(resolve, reject);
});

const many = Array.from({ length: 20 }, (_, i) => call('run_command', { command: `echo ${i}`, sandbox }));
seen.many = (await Promise.all(many)).map((result) => result.structuredContent.stdout);

// A call that is given up: what it started is to be gone.
const executions = async () => (await call('sandboxes', { action: 'executions' })).structuredContent.executions;
const until = async (status) => {
  for (const end = Date.now() + timeout; Date.now() < end; await setTimeout(10)) {
    const found = (await executions()).find((one) => one.text.includes('86411'));
    if (found?.status === status) return found;
  }
  throw new Error(`it is never ${status}`);
};
const abort = new AbortController();
const given = refusal(call('run_command', { command: 'exec sleep 86411', sandbox, timeout: 300 }, { signal: abort.signal }));
await until('running');
abort.abort('enough');
seen.given_up = await given;
seen.killed = await until('killed');

await call('sandboxes', { action: 'end', sandbox });
await client.close();
console.log(JSON.stringify(seen));
