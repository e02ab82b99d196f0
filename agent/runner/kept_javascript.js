// SPDX-License-Identifier: Apache-2.0
// Runs pieces of code one after the other in one global scope.
//
// Inside a sandbox, with whatever the code has. A request is a line of JSON on descriptor 3: code, stdin, args, env, cwd, name, nonce. Each
// piece has its own stdin, and writes to descriptors 1 and 2 itself. It is over when nothing of it is left to do, as a program is; then the
// marker is written to both outputs, and on 1 a line of JSON behind it: what came of it.
'use strict';
(() => {
	const fs = require('fs');
	const util = require('util');
	const inspector = require('inspector');
	const TEXT_MAX = 100000; // characters of a value or an error
	const session = new inspector.Session();
	const { readSync, writeSync, openSync, closeSync, unlinkSync, writeFileSync } = fs;
	const exit = process.exit.bind(process);
	const { hrtime, resourceUsage, cpuUsage } = process;
	const keeper = Symbol.for('yett.keeper');
	const KEEP = "function () { globalThis[Symbol.for('yett.keeper')](this) }";
	const HOW = { replMode: true, awaitPromise: true, objectGroup: 'piece' };
	const unread = [];
	let piece = null;

	session.connect();

	// The bytes of the next line; null: there is none.
	function readLine() {
		const block = Buffer.allocUnsafe(65536);

		for (;;) {
			const last = unread[unread.length - 1];
			const end = last ? last.indexOf(10) : -1;

			if (end >= 0) {
				const parts = unread.splice(0, unread.length, last.subarray(end + 1));

				parts[parts.length - 1] = last.subarray(0, end);
				return Buffer.concat(parts).toString();
			}
			const length = readSync(3, block);
			if (length === 0)
				return null;
			unread.push(Buffer.from(block.subarray(0, length)));
		}
	}

	function writeAll(fd, text) {
		let data = Buffer.from(text);

		while (data.length) {
			try {
				data = data.subarray(writeSync(fd, data));
			} catch (error) {
				if (error.code !== 'EAGAIN')
					throw error;
			}
		}
	}

	// Descriptor 0 is the lowest that is free once it is closed, so that what is opened next is that.
	function openInput(text) {
		let path = '/dev/null';

		if (text) {
			path = `${require('os').tmpdir()}/.stdin-${process.pid}-${piece.nonce}`;
			writeFileSync(path, text);
		}
		try {
			closeSync(0);
		} catch (error) {
			// The code has closed it.
		}
		openSync(path, 'r');
		if (text)
			unlinkSync(path);
		let stream = null;
		Object.defineProperty(process, 'stdin', {
			configurable: true,
			enumerable: true,
			get: () => (stream = stream || new fs.ReadStream('', { fd: 0, autoClose: false })),
		});
	}

	// Of a stack what is the code's, without this program and node.
	function cut(stack) {
		const kept = [];
		let isOurs = false;

		for (const line of stack.split('\n')) {
			isOurs = /^\s+at (.*\()?(node:|\[eval\])/.test(line) || (isOurs && /^\s+at new Promise /.test(line));
			if (!isOurs)
				kept.push(line);
			else if (line.endsWith(' {'))
				kept[kept.length - 1] += ' {';
		}
		return kept.join('\n');
	}

	function tellError(error) {
		let text;

		try {
			text = error instanceof Error && error.stack ? cut(util.inspect(error)) : `Uncaught ${util.inspect(error)}`;
		} catch (_) {
			text = 'Uncaught error, which cannot be shown';
		}
		piece.status = 1;
		piece.error = (piece.error ? `${piece.error}\n${text}` : text).slice(-TEXT_MAX);
		writeAll(2, `${text}\n`);
	}

	const call = util.promisify(session.post.bind(session));

	// The value itself of what the inspector has told of it.
	async function valueOf(remote) {
		let value = remote.value;

		if (remote.unserializableValue !== undefined)
			return remote.type === 'bigint' ? BigInt(remote.unserializableValue.slice(0, -1)) : Number(remote.unserializableValue);
		if (remote.objectId) {
			globalThis[keeper] = (kept) => (value = kept);
			await call('Runtime.callFunctionOn', { objectId: remote.objectId, functionDeclaration: KEEP });
			delete globalThis[keeper];
		}
		return value;
	}

	// As the console of a browser: what was declared with const or let may be declared anew, await may stand at the top.
	async function evaluate({ code, name, env, cwd }) {
		Object.assign(process.env, env);
		if (cwd)
			process.chdir(cwd);
		const expression = `${code}\n//# sourceURL=${name}`;
		const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, ...HOW });

		if (exceptionDetails)
			tellError(await valueOf(exceptionDetails.exception));
		else if (result.type !== 'undefined')
			piece.value = util.inspect(await valueOf(result)).slice(0, TEXT_MAX);
		await call('Runtime.releaseObjectGroup', { objectGroup: 'piece' });
	}

	function finish() {
		const used = cpuUsage(piece.before);
		const outcome = {
			status: piece.status || process.exitCode || 0,
			error: piece.error,
			value: piece.value,
			memory: resourceUsage().maxRSS * 1024,
			user: used.user / 1e6,
			system: used.system / 1e6,
			wall: Number(hrtime.bigint() - piece.began) / 1e9,
		};
		const marker = `\x1e${piece.nonce}\x1e`;

		piece = null;
		writeAll(2, marker);
		writeAll(1, `${marker}${JSON.stringify(outcome)}\n`);
	}

	// Called when there is nothing left to do: waits for the next request, without serving anything meanwhile.
	function next() {
		if (piece) {
			if (!piece.isSettled)
				tellError('nothing is left to do, and what is awaited never came');
			finish();
		}
		const line = readLine();
		if (line === null)
			exit(0);
		const request = JSON.parse(line);
		piece = { nonce: request.nonce, isSettled: false, status: 0, error: null, value: null, began: hrtime.bigint(), before: cpuUsage() };
		openInput(request.stdin);
		process.argv = [process.argv[0], request.name, ...request.args];
		process.exitCode = undefined;
		evaluate(request).catch(tellError).finally(() => {
			if (piece && piece.nonce === request.nonce)
				piece.isSettled = true;
		});
		setImmediate(() => {}); // one more turn, after which this is called again
	}

	process.on('uncaughtException', (error) => tellError(error));
	process.on('beforeExit', next);
})();
