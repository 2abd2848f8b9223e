/**
 * Runs a program in a network namespace of its own, whose loopback has some ports of the machine:
 * `unshare --net node in-own-network.ts <folder> <port,port> <program> <arguments>`. `<folder>/<port>.sock` leads to each.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { passOn } from './pass-on.ts';

const [folder = '', ports = '', program = '', ...words] = process.argv.slice(2);
execFileSync('ip', ['link', 'set', 'lo', 'up']);
for (const port of ports.split(','))
  await once(passOn(join(folder, `${port}.sock`)).listen(Number(port), '127.0.0.1'), 'listening');
const child = spawn('setpriv', ['--pdeathsig=KILL', program, ...words], { stdio: 'inherit' });
child.on('exit', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => child.kill());
