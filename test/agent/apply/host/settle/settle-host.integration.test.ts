import { once } from 'node:events';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PackageSecrets } from '../../../../../agent/model/package-secrets.ts';
import type { HostCheck } from '../../../../../bundles/formats/bundle/host-package.ts';
import { never, packageOf, sandbox } from '../sandbox.ts';

const settle = async (checks: readonly HostCheck[], signal = never) => {
  await using host = await sandbox();
  return { results: await host.target.settle(packageOf({ checks }), signal), root: host.root };
};

const exec = (name: string, argv: readonly string[], timeoutSeconds = 10): HostCheck => ({
  type: 'exec',
  name,
  argv,
  timeoutSeconds,
});

const serve = async (answer: () => number) => {
  const server = createServer(({ headers }, response) => {
    const known = headers.authorization === `Basic ${Buffer.from('user:SECRET').toString('base64')}`;
    response.writeHead(known ? answer() : 401).end('SECRET');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://user:SECRET@127.0.0.1:${port}/healthz?key=SECRET`,
    [Symbol.dispose]: () => server.close(),
  };
};

describe.concurrent('a tcp check', () => {
  it('passes as soon as the port accepts connections, and fails with the socket error after its timeout', async () => {
    const server = createNetServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const tcp: HostCheck = { type: 'tcp', name: 'broker', host: '127.0.0.1', port, timeoutSeconds: 1 };
    expect((await settle([tcp])).results).toEqual([
      {
        name: 'broker',
        outcome: 'failed',
        message: `127.0.0.1:${port} accepts no connection: ECONNREFUSED (tried for 1 s)`,
      },
    ]);
    const later = createNetServer((socket) => socket.destroy());
    setTimeout(() => later.listen(port, '127.0.0.1'), 400);
    expect((await settle([{ ...tcp, timeoutSeconds: 60 }])).results).toEqual([
      { name: 'broker', outcome: 'passed', message: `127.0.0.1:${port} accepts connections` },
    ]);
    later.close();
  });
});

describe.concurrent('a file check', () => {
  const fresh: HostCheck = {
    type: 'file',
    name: 'fresh',
    path: '/run/press/beat',
    maxAgeSeconds: 60,
    timeoutSeconds: 1,
  };

  it('fails for a missing, too old or future file, and passes once the file is written', async () => {
    await using host = await sandbox();
    const check = (one: HostCheck) => host.target.settle(packageOf({ checks: [one] }), never);
    const message = async () => (await check(fresh))[0]?.message;
    expect(await message()).toBe('/run/press/beat does not exist (tried for 1 s)');
    const path = join(host.root, 'run/press/beat');
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, '');
    await utimes(path, 0, 0);
    // Without its age, which would make each look another failure.
    expect(await message()).toBe(
      '/run/press/beat was last modified at 1970-01-01T00:00:00Z, more than 60 s ago (tried for 1 s)',
    );
    // Such a file would be fresh until that day.
    await utimes(path, 4_102_444_800, 4_102_444_800);
    expect(await message()).toBe(
      '/run/press/beat was last modified at 2100-01-01T00:00:00Z, which is in the future: the clock of this host or of what wrote the file is wrong (tried for 1 s)',
    );
    setTimeout(() => void utimes(path, new Date(), new Date()), 400);
    expect((await check({ ...fresh, timeoutSeconds: 60 }))[0]).toEqual({
      name: 'fresh',
      outcome: 'passed',
      message: '/run/press/beat was modified at most 60 s ago',
    });
  });
});

// Most of them wait: they do so together.
describe.concurrent('an exec check', () => {
  it("runs in the host's root with FLEET_ROOT set and without the agent's environment", async () => {
    const script = '[ "$PWD" = "$FLEET_ROOT" ] && [ -f etc/passwd ] && [ -z "$HOME$VITEST$NODE_ENV" ]';
    const { results } = await settle([exec('root', ['/bin/sh', '-c', script])]);
    expect(results).toEqual([{ name: 'root', outcome: 'passed', message: '/bin/sh ended with 0' }]);
  });

  it('fails with the exit code, a missing program or a timeout that kills all children; every check is reported', async () => {
    const begin = performance.now();
    const { results } = await settle([
      exec('code', ['/bin/sh', '-c', 'echo what; echo why >&2; exit 3']),
      exec('absent', ['/no/such/program']),
      exec('slow', ['/bin/sh', '-c', 'sleep 30 & sleep 30'], 1),
      exec('good', ['/bin/true']),
    ]);
    expect(results.map(({ output }) => output)).toEqual([
      'why\nwhat',
      undefined,
      'timed out after 1 s',
      undefined,
    ]);
    expect(results.map(({ name, outcome, message }) => `${name} ${outcome}: ${message}`)).toEqual([
      'code failed: /bin/sh ended with 3',
      'absent failed: /no/such/program is not a program on this host',
      'slow failed: /bin/sh did not end within 1 s',
      'good passed: /bin/true ended with 0',
    ]);
    expect(performance.now() - begin).toBeLessThan(20_000);
  });

  it("keeps the first 4 KiB of a failed program's output, without colours and secrets", async () => {
    await using host = await sandbox();
    const value = 'pa55 "word"\nsecond line of it';
    const secrets: PackageSecrets = {
      sealed: [],
      sets: new Map([
        [
          'db',
          {
            fleet: 'acme',
            site: 'plant-7',
            name: 'db',
            version: 1,
            values: { password: Buffer.from(value).toString('base64') },
          },
        ],
      ]),
      decrypted: new Set(['licence']),
      hash: () => 'hmac-sha256:0',
    };
    const desired = packageOf({
      checks: [
        exec('told', ['/bin/sh', '-c', `printf '%s' "$0" >&2; printf '%s' "$0" | base64 -w0; exit 1`, value]),
        exec('lines', ['/bin/sh', '-c', 'printf "\\033[31mred\\033[0m second line of it LICENCE-1"; exit 1']),
        exec('long', ['/bin/sh', '-c', 'head -c 4090 /dev/zero | tr "\\0" x; echo LICENCE-1; exit 1']),
        exec('endless', ['/bin/sh', '-c', 'head -c 1000000 /dev/zero | tr "\\0" ä; exit 1']),
      ],
    });
    const files = new Map([...desired.files, ['licence', Buffer.from('LICENCE-1\n')]]);
    const results = await host.target.settle({ ...desired, files, secrets }, never);
    const [told, lines, long, endless] = results.map(({ output = '' }) => output);
    expect(told).toBe('[secret]\n[secret]');
    expect(lines).toBe('red [secret] [secret]');
    expect(long).toBe(`${'x'.repeat(4090)}[secre`);
    expect(Buffer.byteLength(endless ?? '')).toBeLessThanOrEqual(4096);
  });

  it('reports a program of the package given by absolute path, because checks run outside of the root', async () => {
    await using host = await sandbox();
    await host.put('/opt/app/selftest', '#!/bin/sh\n', 0o755);
    const results = await host.target.settle(
      packageOf({ checks: [exec('self', ['/opt/app/selftest']), exec('named', ['selftest'])] }),
      never,
    );
    expect(results.map(({ message }) => message)).toEqual([
      `/opt/app/selftest is not a program on this host: checks run outside of the root, where it is ${host.root}/opt/app/selftest; name it by way of "$FLEET_ROOT" in a shell, or as ./opt/app/selftest`,
      'selftest is not a program on this host',
    ]);
  });

  it('runs a program of the package that is given by a path relative to the root', async () => {
    await using host = await sandbox();
    await host.put('/opt/app/selftest', '#!/bin/sh\n', 0o755);
    const results = await host.target.settle(
      packageOf({ checks: [exec('self', ['./opt/app/selftest'])] }),
      never,
    );
    expect(results).toMatchObject([{ outcome: 'passed' }]);
  });

  it('does not wait for background processes of the check', async () => {
    const begin = performance.now();
    const { results } = await settle([exec('daemon', ['/bin/sh', '-c', 'sleep 60 & exit 0'])]);
    expect(results[0]?.outcome).toBe('passed');
    expect(performance.now() - begin).toBeLessThan(30_000);
  });

  it('is stopped with the agent', async () => {
    const signal = AbortSignal.timeout(100);
    await expect(settle([exec('slow', ['/bin/sleep', '20'])], signal)).rejects.toMatchObject({
      code: 'ABORTED',
    });
  });
});

describe.concurrent('an http check', () => {
  const check = (url: string, timeoutSeconds: number): HostCheck => ({
    type: 'http',
    name: 'web',
    url,
    status: 204,
    timeoutSeconds,
  });

  it('passes as soon as the expected status is answered', async () => {
    let asked = 0;
    using server = await serve(() => (++asked < 3 ? 503 : 204));
    const { results } = await settle([check(server.url, 10)]);
    expect(results[0]).toMatchObject({ name: 'web', outcome: 'passed' });
    expect(asked).toBe(3);
  });

  it('fails after its timeout with the last status and without the credentials of the URL', async () => {
    using server = await serve(() => 503);
    const { results } = await settle([check(server.url, 1)]);
    expect(results[0]?.outcome).toBe('failed');
    expect(results[0]?.message).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/healthz answers 503 instead of 204 \(tried for 1 s\)$/,
    );
  });

  it('fails when nothing listens', async () => {
    const { results } = await settle([check('http://127.0.0.1:1/', 1)]);
    expect(results[0]).toMatchObject({ outcome: 'failed' });
  });
});

it('a check of a unit is skipped where no init starts units, with or without an explicit check', async () => {
  await using host = await sandbox();
  const units = [
    { name: 'watched.service', active: true },
    { name: 'unwatched.service', active: true },
    { name: 'idle.service' },
  ];
  const check = { type: 'unit', name: 'up', unit: 'watched.service', stableSeconds: 1 } as const;
  expect(await host.target.settle(packageOf({ units, checks: [check] }), never)).toEqual([
    { name: 'up', outcome: 'skipped', message: 'watched.service is not watched: no init' },
    { name: 'unwatched.service', outcome: 'skipped', message: 'unwatched.service is not started: no init' },
  ]);
});
