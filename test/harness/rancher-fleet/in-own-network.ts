/**
 * Runs a program in a network namespace of its own, whose loopback has one port of the machine:
 * `unshare --net node in-own-network.ts <socket> <port> <program> <arguments>`. Who listens at the socket passes it on.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createConnection, createServer } from 'node:net';

const [socket = '', port = '', program = '', ...words] = process.argv.slice(2);
execFileSync('ip', ['link', 'set', 'lo', 'up']);
createServer((here) => {
  const there = createConnection(socket);
  here.pipe(there).pipe(here);
  for (const end of [here, there])
    end.on('error', () => {
      here.destroy();
      there.destroy();
    });
}).listen(Number(port), '127.0.0.1', () => {
  const child = spawn('setpriv', ['--pdeathsig=KILL', program, ...words], { stdio: 'inherit' });
  child.on('exit', (code) => process.exit(code ?? 1));
  process.on('SIGTERM', () => child.kill());
});
