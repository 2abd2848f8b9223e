import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeTar } from '#bundles/formats/archive/write-tar';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { signSimply, signWithBundle } from '../../bundles/trust/images/sign-image.ts';
import { makeWorld, type World } from '../../exporter/world.ts';
import { makeAuthority, makeCertificate } from '../../harness/fleets/certificates.ts';
import { startContainerd } from '../../harness/hosts/containerd.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Outcome, runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { newSigningKey } from '../../harness/fleets/signed-layout.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const KIOSK = { environment: 'prod', clusterType: 'kiosk' };
const key = newSigningKey();
/** Of four parts. */
const BIG = Buffer.alloc(8 << 20, 'big');

type Serving = AsyncDisposable & {
  readonly host: string;
  readonly said: () => string;
  readonly process: ChildProcess;
};

/** fleet-export serve, as a person starts it. */
const serve = async (...words: readonly string[]): Promise<Serving> => {
  const child = spawn(
    process.execPath,
    [programFile('exporter'), 'serve', ...words, '--listen', '127.0.0.1:0'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = once(child, 'exit');
  const host = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', () => {
      const [, found] = /at https?:\/\/([0-9.]+:\d+):/.exec(said) ?? [];
      if (found) resolve(found);
    });
    child.once('exit', () => reject(new Error(said)));
  });
  return {
    host,
    said: () => said,
    process: child,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
};

const layerOf = async (text: string): Promise<Buffer> => {
  const content = Buffer.from(text);
  const entry = { path: 'app', size: content.byteLength, mode: 0o755, content };
  return Buffer.concat(await Array.fromAsync(writeTar([entry])));
};

describe('a served medium', () => {
  let world: World;
  let image: Digest;
  beforeAll(async () => {
    world = await makeWorld();
    await world.layout.release({
      channel: KIOSK,
      version: 1,
      bundles: [
        {
          kind: 'kubernetes',
          packages: { web: { 'app.yaml': 'text: one\n' } },
          images: [
            {
              name: 'web',
              layers: [await layerOf('hello')],
              attach: async (blobs, { mediaType, digest, size }) => [
                await signWithBundle(blobs, { mediaType, digest, size }, key),
                await signSimply(blobs, digest, key),
              ],
            },
            { name: 'big', layers: [BIG] },
          ],
        },
      ],
    });
    await world.export('medium');
    await world.export('medium.tar');
    await world.export('chunked', {}, { maxFileSize: 2_500_000 });
    await using medium = await openMedium(world.path('medium'));
    const [bundle] = medium.medium?.bundles ?? [];
    const config = JSON.parse(
      await readFile(world.path('medium', 'blobs', 'sha256', hexOf(await configOf(bundle?.digest))), 'utf8'),
    );
    image = config.closure.find((entry: { names?: string[] }) => entry.names?.[0]?.includes('/web@')).digest;
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const configOf = async (bundle: Digest | undefined): Promise<Digest> =>
    JSON.parse(await readFile(world.path('medium', 'blobs', 'sha256', hexOf(bundle ?? digestOf(''))), 'utf8'))
      .config.digest;

  const FORMS = ['medium', 'medium.tar', 'chunked'] as const;

  describeWith(['skopeo', 'oras', 'cosign'], 'for clients of registries', (paths) => {
    for (const form of FORMS) {
      it(`is copied by skopeo from ${form}, without being written to`, async () => {
        const before = await sizesIn(world.path());
        await using served = await serve(world.path(form));
        await using folder = await temporaryDirectory('copied');
        for (const reference of [`registry.test/web@${image}`, 'prod/kiosk:bundle', 'prod/kiosk:release']) {
          const words = ['copy', '--src-tls-verify=false', `docker://${served.host}/${reference}`];
          await runOrFail([
            paths.skopeo,
            ...words,
            `dir:${join(folder.path, reference.replace(/[/:@]/g, '-'))}`,
          ]);
        }
        const big = await fetch(`http://${served.host}/v2/registry.test/big/tags/list`);
        const { tags } = (await big.json()) as { tags: string[] };
        await runOrFail([
          paths.skopeo,
          'copy',
          '--src-tls-verify=false',
          `docker://${served.host}/registry.test/big:${tags[0]}`,
          `oci:${join(folder.path, 'big')}:latest`,
        ]);
        expect(await sizesIn(world.path())).toEqual(before);
      });
    }

    it('is pulled by oras, with the referrers of an image and a bundle', async () => {
      await using served = await serve(world.path('medium'));
      await using folder = await temporaryDirectory('oras');
      const discover = async (reference: string) => {
        const words = ['discover', '--plain-http', '--format', 'json', `${served.host}/${reference}`];
        const { stdout } = await runOrFail([paths.oras, ...words]);
        const found = JSON.parse(stdout) as { referrers?: unknown[]; manifests?: unknown[] };
        return (found.referrers ?? found.manifests ?? []).length;
      };
      expect(await discover(`registry.test/web@${image}`)).toBe(1);
      expect(await discover('prod/kiosk:bundle')).toBe(1);
      await runOrFail([
        paths.oras,
        'pull',
        '--plain-http',
        '--output',
        folder.path,
        `${served.host}/prod/kiosk:release`,
      ]);
      const { stdout } = await runOrFail([paths.oras, 'repo', 'ls', '--plain-http', served.host]);
      expect(stdout.trim().split('\n')).toEqual(['prod/kiosk', 'registry.test/big', 'registry.test/web']);
    });

    it('is verified by cosign with signatures of both forms, and with no other key', async () => {
      await using served = await serve(world.path('medium'));
      await using folder = await temporaryDirectory('cosign');
      const verify = async (pem: string, ...words: readonly string[]): Promise<Outcome> => {
        await writeFile(join(folder.path, 'key.pub'), pem);
        return runCommand(
          [
            paths.cosign,
            'verify',
            '--key',
            'key.pub',
            '--insecure-ignore-tlog',
            '--allow-insecure-registry',
            ...words,
            `${served.host}/registry.test/web@${image}`,
          ],
          { cwd: folder.path, env: { PATH: process.env['PATH'], HOME: folder.path } },
        );
      };
      const good = await verify(key.public.pem);
      expect(good.code, good.stderr).toBe(0);
      const older = await verify(key.public.pem, '--new-bundle-format=false');
      expect(older.code, older.stderr).toBe(0);
      expect((await verify(newSigningKey().public.pem)).code).not.toBe(0);
    });

    it('is resumed by curl after a cut, and read correctly by forty readers at once', async () => {
      await using served = await serve(world.path('chunked'));
      await using folder = await temporaryDirectory('ranges');
      const url = `http://${served.host}/v2/registry.test/big/blobs/${digestOf(BIG)}`;
      const file = join(folder.path, 'blob');
      await writeFile(file, BIG.subarray(0, 3_000_001));
      await runOrFail(['curl', '-sSf', '-C', '-', '-o', file, url]);
      expect(digestOf(await readFile(file))).toBe(digestOf(BIG));
      const before = await residentOf(served.process.pid);
      const readers = Array.from({ length: 40 }, () => digestAt(url));
      expect(new Set(await Promise.all(readers))).toEqual(new Set([digestOf(BIG)]));
      // 320 MiB went through it.
      expect((await residentOf(served.process.pid)) - before).toBeLessThan(200 << 20);
    }, 120_000);
  });

  describeWith(['containerd'], 'for a cluster', (paths) => {
    it('is pulled by containerd under the name in the manifest, from the mirror in hosts.toml', async () => {
      await using served = await serve(world.path('medium.tar'));
      await using folder = await temporaryDirectory('hosts');
      await using containerd = await startContainerd(paths.containerd);
      const rule = join(folder.path, 'registry.test');
      await mkdir(rule);
      await writeFile(
        join(rule, 'hosts.toml'),
        `server = "https://registry.test"\n[host."http://${served.host}"]\n  capabilities = ["pull", "resolve"]\n`,
      );
      const name = `registry.test/web@${image}`;
      await containerd.ctr('images', 'pull', '--hosts-dir', folder.path, name);
      expect(await containerd.ctr('images', 'ls', '-q')).toContain(name);
    });
  });

  it('is served with TLS by the given certificate', async () => {
    await using folder = await temporaryDirectory('tls');
    const authority = await makeAuthority(folder.path);
    const { certificate, key: secret } = await makeCertificate(folder.path, authority, ['IP:127.0.0.1']);
    await using served = await serve(world.path('medium'), '--tls-cert', certificate, '--tls-key', secret);
    const ca = await readFile(authority.certificate, 'utf8');
    await using client = openRegistry({ host: served.host, prefix: '' }, { plainHttp: [], env: {}, ca });
    expect((await client.repository('registry.test/web').resolve(image))?.digest).toBe(image);
    expect(await client.repositories()).toEqual(['prod/kiosk', 'registry.test/big', 'registry.test/web']);
  });

  it('ends at once on SIGTERM, and has printed its address and content', async () => {
    const served = await serve(world.path('medium'));
    const ended = once(served.process, 'exit');
    const idle = await fetch(`http://${served.host}/v2/`);
    await idle.bytes();
    served.process.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    expect(served.said()).toMatch(/Serving .*medium at http:\/\/127.0.0.1:\d+: 3 repositories, 2 images/);
    expect(served.said()).toContain('no --root-sha256 was given');
  });
});

/** Forty answers in memory at once would measure this process. */
const digestAt = async (url: string): Promise<Digest> => {
  const hash = createHash('sha256');
  for await (const chunk of (await fetch(url)).body ?? []) hash.update(chunk);
  return `sha256:${hash.digest('hex')}`;
};

const residentOf = async (pid = 0): Promise<number> =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

const sizesIn = async (folder: string): Promise<Readonly<Record<string, number>>> => {
  const sizes: Record<string, number> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    sizes[file] = (await stat(file)).size;
  }
  return sizes;
};
