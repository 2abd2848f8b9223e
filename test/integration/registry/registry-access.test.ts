import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '../../../bundles/digest.ts';
import { findCredentials } from '../../../bundles/transport/registry/http/find-credentials.ts';
import { openRegistry } from '../../../bundles/transport/registry/open-registry.ts';
import type { Registry, RegistryOptions } from '../../../bundles/transport/registry/registry.ts';
import { type Certificate, makeAuthority, makeCertificate } from '../../harness/fleets/certificates.ts';
import { startConnectProxy } from '../../harness/neighbours/connect-proxy.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { startTokenServer } from '../../harness/neighbours/token-server.ts';

/** 'robot', whose password is 'let me in', in bcrypt. */
const HTPASSWD = 'robot:$2b$04$jJqnZt79Kw9L5AsLefEGNO0xbv2xK9C/hsJ5ffMv7B5.3n4MQC5Ka\n';
const BLOB = Buffer.from('some content');

let folder: TemporaryDirectory;
let authority: Certificate;
let ca: string;
beforeAll(async () => {
  folder = await temporaryDirectory('registry-access');
  authority = await makeAuthority(folder.path);
  ca = await readFile(authority.certificate, 'utf8');
});
afterAll(() => folder[Symbol.asyncDispose]());

const path = (...names: readonly string[]): string => join(folder.path, ...names);

const logIn = async (host: string, password: string): Promise<string> => {
  const auth = Buffer.from(`robot:${password}`).toString('base64');
  await writeFile(path('auth.json'), JSON.stringify({ auths: { [host]: { auth } } }));
  return path('auth.json');
};

/** Tried again where that may help, without a wait. */
const open = (host: string, options: Partial<RegistryOptions> = {}): Registry =>
  openRegistry({ host, prefix: 'factory' }, { plainHttp: [], env: {}, sleep: async () => {}, ...options });

async function* content(): AsyncGenerator<Uint8Array> {
  yield BLOB;
}
const push = (registry: Registry, repository = 'line', mountFrom?: string) =>
  registry
    .repository(repository)
    .pushBlob({ digest: digestOf(BLOB), size: BLOB.byteLength }, async () => content(), { mountFrom });
const sizeIn = (registry: Registry, repository = 'line') =>
  registry.repository(repository).blobs.size(digestOf(BLOB));

describeOnVersions('dockerRegistry', [], 'docker-registry with name and password', ({ dockerRegistry }) => {
  it('accepts a known user, and refuses others with a hint to log in', async () => {
    await using server = await startRegistry(dockerRegistry, { htpasswd: HTPASSWD });
    await using stranger = open(server.host);
    await expect(push(stranger)).rejects.toMatchObject({
      code: 'REGISTRY_DENIED',
      hint: expect.stringContaining('Log in'),
    });
    await using wrong = open(server.host, { authFile: await logIn(server.host, 'wrong') });
    await expect(push(wrong)).rejects.toMatchObject({ code: 'REGISTRY_DENIED' });
    await using known = open(server.host, { authFile: await logIn(server.host, 'let me in') });
    expect(await push(known)).toBe('uploaded');
    expect(await sizeIn(known)).toBe(BLOB.byteLength);
  });
});

describeOnVersions('dockerRegistry', [], 'docker-registry with a token server', ({ dockerRegistry }) => {
  const withTokens = async (seconds: number) => {
    await using cleanup = new AsyncDisposableStack();
    const tokens = cleanup.use(
      await startTokenServer(authority, { user: 'robot', password: 'let me in', seconds }),
    );
    const { realm, service, issuer, asked } = tokens;
    const token = { realm, service, issuer, rootcertbundle: authority.certificate };
    const { host } = cleanup.use(await startRegistry(dockerRegistry, { token }));
    const moved = cleanup.move();
    return { host, asked, [Symbol.asyncDispose]: () => moved.disposeAsync() };
  };

  it('gets one token for each scope, and for a mount one of both repositories', async () => {
    await using server = await withTokens(300);
    await using client = open(server.host, { authFile: await logIn(server.host, 'let me in') });
    expect(await push(client, 'qa')).toBe('uploaded');
    expect(await push(client, 'prod', 'qa')).toBe('mounted');
    expect(await sizeIn(client, 'prod')).toBe(BLOB.byteLength);
    expect(server.asked.every(({ user }) => user === 'robot')).toBe(true);
    const scopes = server.asked.map((one) => one.scopes.join(' '));
    expect(new Set(scopes).size).toBe(scopes.length);
    expect(scopes).toContain('repository:factory/prod:pull,push repository:factory/qa:pull');
  });

  it('lets an anonymous user read, but not write', async () => {
    await using server = await withTokens(300);
    await using known = open(server.host, { authFile: await logIn(server.host, 'let me in') });
    await push(known);
    await using stranger = open(server.host);
    expect(await sizeIn(stranger)).toBe(BLOB.byteLength);
    expect(await stranger.repository('line').tags()).toEqual([]);
    await expect(push(stranger, 'other')).rejects.toMatchObject({ code: 'REGISTRY_DENIED' });
  });

  it('is accessed with new tokens when the old ones expire early', async () => {
    // docker-registry allows a minute for clocks that differ: these are good for two seconds.
    await using server = await withTokens(-58);
    await using client = open(server.host, { authFile: await logIn(server.host, 'let me in') });
    await push(client);
    await sleep(3000);
    expect(await push(client)).toBe('there');
    expect(server.asked).toHaveLength(2);
  });
});

describeOnVersions(
  'dockerRegistry',
  [],
  'docker-registry with TLS by a private authority',
  ({ dockerRegistry }) => {
    it('is trusted with its CA file, and otherwise refused with the reason', async () => {
      const tls = await makeCertificate(folder.path, authority, ['IP:127.0.0.1']);
      await using server = await startRegistry(dockerRegistry, { tls });
      await using trusting = open(server.host, { ca });
      expect(await push(trusting)).toBe('uploaded');
      expect(await sizeIn(trusting)).toBe(BLOB.byteLength);

      await using plain = open(server.host);
      await expect(sizeIn(plain)).rejects.toMatchObject({
        code: 'REGISTRY_UNREACHABLE',
        message: expect.stringContaining('shows a certificate that this machine does not trust'),
      });
      const other = await makeAuthority(folder.path, 'other');
      await using wrong = open(server.host, { ca: await readFile(other.certificate, 'utf8') });
      await expect(sizeIn(wrong)).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    });

    it('under another name is refused, also with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
      const tls = await makeCertificate(folder.path, authority, ['DNS:registry.test']);
      await using server = await startRegistry(dockerRegistry, { tls });
      await using client = open(server.host, { ca });
      const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
      try {
        await expect(sizeIn(client)).rejects.toMatchObject({
          message: expect.stringContaining('certificate for another host'),
        });
      } finally {
        if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
        else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
      }
    });

    it('is reached through HTTPS_PROXY, and directly when NO_PROXY has it', async () => {
      const tls = await makeCertificate(folder.path, authority, ['DNS:registry.test', 'DNS:localhost']);
      await using server = await startRegistry(dockerRegistry, { tls });
      const port = server.host.split(':')[1];
      await using proxy = await startConnectProxy({
        [`registry.test:${port}`]: server.host,
        'closed.test:443': 407,
      });
      const env = { HTTPS_PROXY: proxy.url };
      await using through = open(`registry.test:${port}`, { ca, env });
      expect(await push(through)).toBe('uploaded');
      expect(await sizeIn(through)).toBe(BLOB.byteLength);
      expect(new Set(proxy.asked)).toEqual(new Set([`registry.test:${port}`]));

      await using past = open(`registry.test:${port}`, { ca, env: { ...env, NO_PROXY: '.test' } });
      await expect(sizeIn(past)).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
      const asked = proxy.asked.length;
      await using loopback = open(`localhost:${port}`, { ca, env });
      expect(await sizeIn(loopback)).toBe(BLOB.byteLength);
      expect(proxy.asked).toHaveLength(asked);

      await using closed = open('closed.test', { ca, env });
      await expect(sizeIn(closed)).rejects.toMatchObject({
        code: 'REGISTRY_UNREACHABLE',
        message: expect.stringContaining('407'),
      });
    });
  },
);

describeWith(
  ['dockerRegistry'],
  'docker-registry without TLS on another host than the loopback',
  ({ dockerRegistry }) => {
    it('is refused unless plainHttp has it', async () => {
      await using server = await startRegistry(dockerRegistry);
      const port = server.host.split(':')[1];
      await using proxy = await startConnectProxy({ [`registry.test:${port}`]: server.host });
      const env = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url };
      await using unlisted = open(`registry.test:${port}`, { env });
      await expect(push(unlisted)).rejects.toMatchObject({
        code: 'REGISTRY_UNREACHABLE',
        message: expect.stringContaining('does not speak TLS'),
        hint: expect.stringContaining('plainHttp'),
      });
      await using listed = open(`registry.test:${port}`, { env, plainHttp: ['registry.test'] });
      expect(await push(listed)).toBe('uploaded');
    });
  },
);

describe('a credential helper', () => {
  const find = (host: string, config: object) =>
    writeFile(path('helpers.json'), JSON.stringify(config)).then(() =>
      findCredentials(host, 'factory', {
        authFile: path('helpers.json'),
        env: { PATH: `${path('bin')}:/usr/bin:/bin` },
      }),
    );
  beforeAll(async () => {
    await mkdir(path('bin'));
    const script = `#!/bin/sh
read -r host
case "$1 $host" in
  "get known.example") echo '{"ServerURL":"known.example","Username":"robot","Secret":"s3cret"}' ;;
  "get token.example") echo '{"Username":"<token>","Secret":"identity"}' ;;
  "get https://index.docker.io/v1/") echo '{"Username":"hub","Secret":"x"}' ;;
  "get broken.example") echo 's3cret leaks here'; exit 3 ;;
  "get odd.example") echo 's3cret' ;;
  *) echo 'credentials not found in native keychain'; exit 1 ;;
esac
`;
    await writeFile(path('bin/docker-credential-test'), script);
    await chmod(path('bin/docker-credential-test'), 0o755);
  });

  it('is asked for its host, and as a store for every host', async () => {
    expect(await find('known.example', { credHelpers: { 'known.example': 'test' } })).toEqual({
      kind: 'basic',
      username: 'robot',
      password: 's3cret',
    });
    expect(await find('known.example', { credsStore: 'test', auths: { 'known.example': {} } })).toMatchObject(
      { username: 'robot' },
    );
    expect(await find('token.example', { credsStore: 'test' })).toEqual({
      kind: 'identity',
      token: 'identity',
    });
    expect(await find('docker.io', { credsStore: 'test' })).toMatchObject({ username: 'hub' });
    expect(await find('unknown.example', { credsStore: 'test' })).toBeUndefined();
    expect(await find('other.example', { credHelpers: { 'known.example': 'none' } })).toBeUndefined();
  });

  it('that fails, answers wrongly or is missing is named, without its output', async () => {
    for (const host of ['broken.example', 'odd.example']) {
      const error = await find(host, { credsStore: 'test' }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'REGISTRY_DENIED',
        message: expect.stringContaining('docker-credential-test'),
      });
      expect(JSON.stringify([error, String(error)])).not.toContain('s3cret');
    }
    await expect(find('x.example', { credsStore: 'absent' })).rejects.toMatchObject({ code: 'TOOL_MISSING' });
    await expect(find('x.example', { credsStore: '../../bin/sh' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });
});
