import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv, type AnySchemaObject } from 'ajv';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { VERSION } from '#bundles/version';
import { reportPackage } from '../../../bundling/debian/report-package.ts';
import { writeAptRepository } from '../../../bundling/release/apt-repository.ts';
import { ARTIFACTS_PREDICATE, buildRelease } from '../../../bundling/release/build-release.ts';
import { type Gpg, openGpg } from '../../../bundling/release/open-gpg.ts';
import type { Sbom } from '../../../bundling/sbom.ts';
import { describeOnDebians } from '../../harness/hosts/describe-on-debians.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { THIN_NODE_BIND, thinNode } from '../../harness/hosts/thin-node.ts';
import { copyBuiltPrograms } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/** 2026-11-24. */
const EPOCH = 1_795_478_400;

const folder: { path: string } & Partial<TemporaryDirectory> = { path: '' };
let gpg: Gpg;
const stack = new AsyncDisposableStack();

const at = (...names: readonly string[]): string => join(folder.path, ...names);
const release = async (out: string): Promise<readonly string[]> =>
  buildRelease({
    programs: at('programs'),
    out: at(out),
    epoch: EPOCH,
    key: loadSigningKey(generatePrivateKey()),
    gpg,
    images: { 'fleet-agent': at('image.tar') },
    debs: {
      compression: 'none',
      node: await thinNode(folder.path),
      onPackage: reportPackage(
        (line) => said.push(line),
        () => 0,
      ),
    },
  });
let names: readonly string[];
const said: string[] = [];
const sbom = async (file: string): Promise<Sbom> => JSON.parse(await readFile(file, 'utf8')) as Sbom;

beforeAll(async () => {
  folder.path = stack.use(await temporaryDirectory('release')).path;
  gpg = stack.use(await openGpg(undefined));
  await copyBuiltPrograms(at('programs'));
  await writeFile(at('image.tar'), 'an image');
  names = await release('one');
}, 300_000);
afterAll(() => stack.disposeAsync());

it('a release has packages, images and a list of components of each, with the digests of all', async () => {
  expect(names).toEqual([
    `fleet-agent_${VERSION}.cdx.json`,
    `fleet-agent_${VERSION}_amd64.deb`,
    `fleet-agent_${VERSION}_amd64.oci.tar`,
    `fleet-export_${VERSION}.cdx.json`,
    `fleet-export_${VERSION}_amd64.deb`,
    `fleet-ferry-${VERSION}.cdx.json`,
    `fleet-ferry-${VERSION}.tgz`,
    `fleet-scheduler_${VERSION}.cdx.json`,
    `fleet-scheduler_${VERSION}_amd64.deb`,
  ]);
  await runOrFail(['sha256sum', '--check', '--strict', 'SHA256SUMS'], { cwd: at('one/files') });
  expect(said.filter((line) => line.startsWith('Packing '))).toHaveLength(3);
  expect(said[1]).toMatch(/^Packed fleet-agent: \d+\.\d MB in 0 s$/);
});

it('a release built twice has the same bytes, its signatures aside', async () => {
  expect(await release('two')).toEqual(names);
  for (const file of ['files/SHA256SUMS', 'apt/dists/stable/Release'])
    expect(await readFile(at('two', file), 'utf8')).toBe(await readFile(at('one', file), 'utf8'));
});

it('the list of a program names every package of its notices, SQLite, the page and Node, in the form of CycloneDX', async () => {
  const validate = await cycloneDx();
  expect(validate({ bomFormat: 'CycloneDX', specVersion: '1.6', components: [{}] })).not.toEqual([]);
  for (const name of names.filter((one) => one.endsWith('.cdx.json')))
    expect([name, validate(await sbom(at('one/files', name)))]).toEqual([name, []]);
  const listed = await sbom(at('one/files', `fleet-scheduler_${VERSION}.cdx.json`));
  const components = listed.components.map(({ group, name, version }) =>
    group === undefined ? `${name} ${version}` : `${group}/${name} ${version}`,
  );
  const notices = await Promise.all(
    ['LICENCES.txt', 'scheduler/page/dist/LICENCES.txt'].map((file) =>
      readFile(at('programs/scheduler', file), 'utf8'),
    ),
  );
  const noticed = [...notices.join('\n').matchAll(/^((?:@[a-z0-9-]+\/)?[a-z0-9._-]+ \d+\.\d\S*) \(/gm)];
  expect(components).toEqual(expect.arrayContaining(noticed.map(([, one]) => one)));
  expect(components.filter((one) => /^(sqlite|node|react) /.test(one))).toHaveLength(3);
  // What npm checked when it installed them.
  const npm = listed.components.filter(({ purl }) => purl?.startsWith('pkg:npm/'));
  expect(npm.filter(({ hashes }) => hashes === undefined)).toEqual([]);
});

it('a Debian package carries its list of components', async () => {
  const deb = at('one/files', `fleet-agent_${VERSION}_amd64.deb`);
  await runOrFail(['dpkg-deb', '--extract', deb, at('unpacked')]);
  const listed = await readFile(at('unpacked/usr/share/doc/fleet-agent/sbom.cdx.json'), 'utf8');
  expect(listed).toBe(await readFile(at('one/files', `fleet-agent_${VERSION}.cdx.json`), 'utf8'));
  expect(await readdir(at('unpacked/usr/lib/fleet-agent'))).not.toContain('sbom.cdx.json');
});

describeWith(['cosign'], 'cosign', ({ cosign }) => {
  const verify = (name: string) =>
    runCommand(
      [
        cosign,
        'verify-blob-attestation',
        '--insecure-ignore-tlog',
        '--key=fleet-ferry.pub',
        `--type=${ARTIFACTS_PREDICATE}`,
        `--bundle=fleet-ferry-${VERSION}.sigstore.json`,
        name,
      ],
      { cwd: at('one/files'), env: { ...process.env, HOME: folder.path } },
    );

  it('verifies each file of a release by the one statement, and no changed file', async () => {
    for (const name of names) expect([name, (await verify(name)).code]).toEqual([name, 0]);
    await writeFile(at('one/files/changed'), 'changed');
    expect((await verify('changed')).code).not.toBe(0);
  });
});

describeOnDebians([], 'the apt repository of a release', ({ base, debian }) => {
  let host: FactoryHost;
  const apt = (folderName: string): string =>
    `deb [signed-by=/srv/release/apt/fleet-ferry.gpg] file:/srv/release/${folderName} stable main`;
  const update = async (folderName: string) => {
    // The host has no network for the sources of Debian.
    await host.sh('rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*');
    await host.sh(`echo '${apt(folderName)}' > /etc/apt/sources.list.d/fleet-ferry.list`);
    return host.exec(['apt-get', 'update']);
  };

  beforeAll(async () => {
    host = stack.use(
      await startFactoryHost(`release-${debian}`, {
        base,
        node: false,
        // apt reads as a user who may not enter a temporary folder.
        binds: [{ from: at('one'), to: '/srv/release' }, THIN_NODE_BIND],
      }),
    );
  });

  it('is accepted by apt, which installs the agent from it', async () => {
    const { code, stderr } = await update('apt');
    expect([stderr, code]).toEqual(['', 0]);
    await host.sh('apt-get install --yes --no-install-recommends fleet-agent');
    expect(await host.sh('fleet-agent --version')).toContain(`fleet-agent/${VERSION} `);
    expect(await host.sh('apt-cache policy fleet-agent')).toContain('500 file:/srv/release/apt stable/main');
  });

  it('is refused by apt where another key signed its index', async () => {
    await using stranger = await openGpg(undefined);
    const debs = names.filter((name) => name.endsWith('.deb')).map((name) => at('one/files', name));
    await writeAptRepository({ debs, out: at('one/forged'), epoch: EPOCH, clearSign: stranger.clearSign });
    expect((await update('forged')).code).not.toBe(0);
  });
});

/** What the schema of CycloneDX 1.6 says against a list. Its formats of addresses are not checked: we write none. */
const cycloneDx = async (): Promise<(value: unknown) => readonly unknown[]> => {
  const library = createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json');
  const read = async (name: string): Promise<AnySchemaObject> =>
    JSON.parse(
      await readFile(join(dirname(library), 'res/schema', `${name}.SNAPSHOT.schema.json`), 'utf8'),
    ) as AnySchemaObject;
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const name of ['spdx', 'jsf-0.82', 'cryptography-defs'])
    ajv.addSchema(await read(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  const validate = ajv.compile(await read('bom-1.6'));
  return (value) => (validate(value) ? [] : (validate.errors ?? []));
};
