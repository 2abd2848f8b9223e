import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { VERSION } from '#bundles/version';
import { ARTIFACTS_PREDICATE } from '../../../bundling/release/sign-files.ts';
import { importAgentBase } from '../../harness/hosts/agent-base-image.ts';
import { describeOnDebians } from '../../harness/hosts/describe-on-debians.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { openPodman } from '../../harness/hosts/podman.ts';
import { copyBuiltPrograms } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const REPOSITORY = resolve(import.meta.dirname, '../../..');
const BASE = 'localhost/node-base:24';
const PROGRAMS = ['fleet-agent', 'fleet-export', 'fleet-scheduler'];

const stack = new AsyncDisposableStack();
let folder: TemporaryDirectory;
let said: string;

const at = (...names: readonly string[]): string => join(folder.path, ...names);
const digestOf = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
const digests = async (out: string): Promise<Readonly<Record<string, string>>> => {
  const entries = await readdir(out, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const named = files.map(async (file) => [file.slice(out.length + 1), await digestOf(file)] as const);
  return Object.fromEntries(await Promise.all(named));
};

/** `npm run release -- --dry-run`, after its build, with the real Node and xz. */
const dryRun = async (name: string, podman: string): Promise<string> => {
  await copyBuiltPrograms(at(name, 'dist'));
  const { stdout } = await runOrFail(
    [
      process.execPath,
      'bundling/release/run.ts',
      '--dry-run',
      `--base=${BASE}`,
      `--dist=${at(name, 'dist')}`,
    ],
    {
      cwd: REPOSITORY,
      env: {
        HOME: folder.path,
        TMPDIR: folder.path,
        PATH: [podman, dirname(process.execPath), process.env['PATH']].join(':'),
        SOURCE_DATE_EPOCH: '1795478400',
      },
    },
  );
  return stdout;
};

describeWith(
  ['podman', 'busybox', 'nodeBase', 'cosign'],
  'a whole dry run of a release',
  ({ podman, busybox, nodeBase, cosign }) => {
    beforeAll(async () => {
      folder = stack.use(await temporaryDirectory('dry-run'));
      for (const name of ['one', 'two']) await mkdir(at(name));
      const builder = stack.use(await openPodman(podman));
      await importAgentBase(builder, BASE, { busybox, libraries: nodeBase });
      said = await dryRun('one', builder.bin);
      await dryRun('two', builder.bin);
    }, 3_600_000);
    afterAll(() => stack.disposeAsync());

    const release = (...names: readonly string[]): string => at('one/dist/release', ...names);

    it('prints the size of each package, and the steps before a release', () => {
      expect(said).toMatch(/^Packed fleet-agent: \d+\.\d MB in \d+ s$/m);
      expect(said).toContain(
        'Dry run: nothing was sent. Keys that were not given were made for this run alone.',
      );
    });

    it('makes the same bytes twice, what is signed and the public keys aside', async () => {
      const [one, two] = [await digests(release()), await digests(at('two/dist/release'))];
      const differ = Object.keys(one).filter((name) => one[name] !== two[name]);
      expect(Object.keys(one)).toEqual(Object.keys(two));
      expect(differ.toSorted()).toEqual([
        'apt/dists/stable/InRelease',
        'apt/fleet-ferry.gpg',
        `files/fleet-ferry-${VERSION}.sigstore.json`,
        'files/fleet-ferry.pub',
      ]);
    });

    it('signs every file in a statement that cosign verifies, the list inside of each artifact included', async () => {
      const verify = (file: string) =>
        runCommand(
          [
            cosign,
            'verify-blob-attestation',
            '--insecure-ignore-tlog',
            '--key=fleet-ferry.pub',
            `--type=${ARTIFACTS_PREDICATE}`,
            `--bundle=fleet-ferry-${VERSION}.sigstore.json`,
            file,
          ],
          { cwd: release('files'), env: { ...process.env, HOME: folder.path } },
        );
      const names = (await readdir(release('files'))).filter(
        (name) => !/\.(?:pub|sigstore\.json)$|^SHA256SUMS$/.test(name),
      );
      expect(names).toHaveLength(4 + 3 + 1 + 5);
      for (const name of names) expect([name, (await verify(name)).code]).toEqual([name, 0]);
      // From the list that an installed artifact shows to the signature.
      await mkdir(at('inside'));
      const inside = async (
        name: string,
        commands: readonly (readonly string[])[],
        list: string,
      ): Promise<void> => {
        await mkdir(at('inside', name));
        for (const argv of commands) await runOrFail(argv);
        expect([name, (await verify(at('inside', name, list))).code]).toEqual([name, 0]);
      };
      for (const name of names.filter((one) => one.endsWith('.deb'))) {
        const [program = ''] = name.split('_');
        const list = `usr/share/doc/${program}/sbom.cdx.json`;
        const extract = ['dpkg-deb', '--extract', release('files', name), at('inside', name)];
        const unzip = ['gunzip', '--keep', at('inside', name, `${list}.gz`)];
        await inside(name, program === 'fleet-node' ? [extract] : [extract, unzip], list);
      }
      for (const name of names.filter((one) => one.endsWith('.tgz')))
        await inside(
          name,
          [['tar', '--extract', '--file', release('files', name), '--directory', at('inside', name)]],
          'package/sbom.cdx.json',
        );
    });

    describeOnDebians([], 'its apt repository', ({ base, debian }) => {
      it('installs the three programs and one Node in less than 150 MB, with the files that were signed', async () => {
        await using host = await hostWith(`dry-run-${debian}`, base, release());
        await host.sh(`rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*
          mkdir -p /etc/apt/keyrings && install -m 644 /srv/release/apt/fleet-ferry.gpg /etc/apt/keyrings/
          echo 'deb [signed-by=/etc/apt/keyrings/fleet-ferry.gpg] file:/srv/release/apt stable main' > /etc/apt/sources.list.d/fleet-ferry.list
          apt-get update`);
        const before = await usedBytes(host);
        await host.sh(`apt-get install --yes --no-install-recommends ${PROGRAMS.join(' ')}`);
        expect((await usedBytes(host)) - before).toBeLessThan(150e6);
        for (const name of PROGRAMS)
          expect(await host.sh(`${name} --version`)).toMatch(
            new RegExp(`^${name}/${VERSION} .* node-v24\\.`),
          );
        expect(await host.sh('cd /srv/release/files && sha256sum --check --strict --quiet SHA256SUMS')).toBe(
          '',
        );
        // What was installed is what the signed packages hold; documentation is left out on such hosts.
        expect(await host.sh(`dpkg --verify ${PROGRAMS.join(' ')} | grep -v /usr/share/ || true`)).toBe('');
        expect(await host.sh('systemctl is-enabled fleet-agent')).toBe('enabled');
        expect(await host.sh('systemctl --failed --plain --no-legend')).toBe('');
      });
    });
  },
);

const hostWith = (name: string, base: string, release: string): Promise<FactoryHost> =>
  startFactoryHost(name, {
    base,
    node: false,
    binds: [{ from: release, to: '/srv/release', readOnly: true }],
  });

/** Of what packages bring, without lists and caches of apt and dpkg. */
const usedBytes = async (host: FactoryHost): Promise<number> =>
  Number(await host.sh('du --summarize --block-size=1 --one-file-system /usr | cut -f 1'));
