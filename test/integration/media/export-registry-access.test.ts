import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { makeAuthority, makeCertificate } from '../../harness/fleets/certificates.ts';
import { startConnectProxy } from '../../harness/neighbours/connect-proxy.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startFaultyRegistry } from '../../harness/neighbours/faulty-registry.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import type { Outcome } from '../../harness/run/run-command.ts';
import { NOW } from '../../harness/fleets/signed-layout.ts';
import { makePublishedWorld, type PublishedWorld } from '../publish/published-world.ts';

/** 'robot', whose password is 'let me in', in bcrypt. */
const HTPASSWD = 'robot:$2b$04$jJqnZt79Kw9L5AsLefEGNO0xbv2xK9C/hsJ5ffMv7B5.3n4MQC5Ka\n';

const createIn = (
  { path }: PublishedWorld,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Outcome> =>
  runExporter(path(), ['create', ...words], {
    PATH: process.env['PATH'],
    HOME: path(),
    FLEET_NOW: NOW.toISOString(),
    ...env,
  });

describeWith(['dockerRegistry'], 'fleet-export create from a company’s registry', ({ dockerRegistry }) => {
  it('uses the proxy, trusts the private authority, and logs in by file or by helper', async () => {
    await using cleanup = new AsyncDisposableStack();
    const world = cleanup.use(await makePublishedWorld());
    const authority = await makeAuthority(world.path());
    const tls = await makeCertificate(world.path(), authority, ['DNS:registry.test']);
    const server = cleanup.use(await startRegistry(dockerRegistry, { tls, htpasswd: HTPASSWD }));
    const name = `registry.test:${server.host.split(':')[1]}`;
    const proxy = cleanup.use(await startConnectProxy({ [name]: server.host }));

    const auth = Buffer.from('robot:let me in').toString('base64');
    await writeFile(world.path('auth.json'), JSON.stringify({ auths: { [name]: { auth } } }));
    await mkdir(world.path('docker'));
    await writeFile(world.path('docker/config.json'), JSON.stringify({ credHelpers: { [name]: 'test' } }));
    await mkdir(world.path('bin'));
    const helper = world.path('bin/docker-credential-test');
    await writeFile(helper, '#!/bin/sh\necho \'{"Username":"robot","Secret":"let me in"}\'\n');
    await chmod(helper, 0o755);

    const reach = { HTTPS_PROXY: proxy.url, NO_PROXY: '.elsewhere' };
    const from = `oci://${name}/fleet`;
    const published = await world.scheduler(
      ['publish', from, '--ca-file', authority.certificate, '--auth-file', world.path('auth.json')],
      reach,
    );
    expect(published).toMatchObject({ code: 0 });

    const words = (to: string) => [
      '--from',
      from,
      '--site',
      'plant-7',
      '--to',
      world.path(to),
      '--json',
      '--progress',
      'none',
    ];
    const trusting = { ...reach, FLEET_EXPORT_CA_FILE: authority.certificate };
    const byFile = await createIn(world, words('by-file.tar'), {
      ...trusting,
      FLEET_EXPORT_AUTH_FILE: world.path('auth.json'),
    });
    expect(byFile, byFile.stdout).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(byFile.stdout)).toMatchObject({ safeToUnplug: true });

    const byHelper = await createIn(world, words('by-helper.tar'), {
      ...trusting,
      PATH: `${world.path('bin')}:${process.env['PATH']}`,
      DOCKER_CONFIG: world.path('docker'),
    });
    expect(byHelper).toMatchObject({ code: 0, stderr: '' });
    expect(new Set(proxy.asked)).toEqual(new Set([name]));

    const stranger = await createIn(world, words('stranger.tar'), trusting);
    expect(stranger.code).toBe(5);
    expect(JSON.parse(stranger.stdout)).toMatchObject({ error: { code: 'REGISTRY_DENIED' } });
    const distrusting = await createIn(world, words('distrusting.tar'), reach);
    expect(JSON.parse(distrusting.stdout)).toMatchObject({ error: { code: 'REGISTRY_UNREACHABLE' } });
    for (const { stdout, stderr } of [byFile, byHelper, stranger, distrusting])
      expect(stdout + stderr).not.toMatch(/let me in|cm9ib3Q6/);
  }, 120_000);

  it('waits as long as the registry asks for, with a message', async () => {
    await using cleanup = new AsyncDisposableStack();
    const world = cleanup.use(await makePublishedWorld());
    const server = cleanup.use(await startRegistry(dockerRegistry));
    const busy = cleanup.use(await startFaultyRegistry(server.host));
    await world.publish(`oci://${server.host}/fleet`);
    busy.fault = () =>
      busy.faults === 0 ? { kind: 'answer', status: 429, headers: { 'retry-after': '3' } } : undefined;
    const from = `oci://${busy.host}/fleet`;
    const to = ['--to', world.path('stick.tar')];
    const words = ['--from', from, '--site', 'plant-7', ...to, '--progress', 'json'];
    const { code, stdout, stderr } = await createIn(world, words, {});
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('read back, safe to unplug');
    const lines = stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
    expect(lines.map(({ waiting }) => waiting)).toContainEqual(
      expect.stringMatching(new RegExp(`^${busy.host} asks to wait, [3-5] s$`)),
    );
    expect(lines.at(-1)).toMatchObject({ phase: 'writing' });
    expect(lines.at(-1).done).toBe(lines.at(-1).total);
  }, 120_000);
});
