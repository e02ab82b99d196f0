// SPDX-License-Identifier: Apache-2.0
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const client = new Client({ name: 'example', version: '1' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(new StdioClientTransport({ command: 'yett', args: ['mcp'], env: process.env }));
console.log('revision', client.getNegotiatedProtocolVersion());

async function ask(name, given) {
  const result = await client.callTool({ name, arguments: given });
  console.log(`${name} ${result.isError ? 'is refused' : 'answers'}:\n${result.content[0].text}\n`);
  return result.structuredContent;
}

await ask('run_command', { command: 'uname -s; pwd' });
await ask('run_command', { command: 'echo to be seen; exit 3' });
await ask('run_command', { command: 'true', memory_bytes: 2 ** 50 });
const { sandbox } = await ask('sandboxes', { action: 'make' });
await ask('write_file', { sandbox: sandbox.id, path: '/tmp/note', content: 'kept between calls\n' });
await ask('run_command', { sandbox: sandbox.id, command: 'wc -c /tmp/note' });
await client.close();
