import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Ajv, type AnySchemaObject } from 'ajv';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { VERSION } from '#bundles/version';
import { digestOf } from '#bundles/digest';
import { buildDebs } from '../../../bundling/debian/build-debs.ts';
import { findNode } from '../../../bundling/debian/node-build.ts';
import { nodeVersion } from '../../../bundling/debian/node-deb.ts';
import { reportPackage } from '../../../bundling/debian/report-package.ts';
import { writeAptRepository } from '../../../bundling/release/apt-repository.ts';
import { buildFiles } from '../../../bundling/release/build-files.ts';
import { joinFiles } from '../../../bundling/release/join-files.ts';
import { type Gpg, openGpg } from '../../../bundling/release/open-gpg.ts';
import { ARTIFACTS_PREDICATE, signFiles } from '../../../bundling/release/sign-files.ts';
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

/** Of the package fleet-node. */
const NODE = nodeVersion(findNode(resolve(import.meta.dirname, '../../..')));

const folder: { path: string } & Partial<TemporaryDirectory> = { path: '' };
let gpg: Gpg;
const stack = new AsyncDisposableStack();

const at = (...names: readonly string[]): string => join(folder.path, ...names);
const release = async (out: string): Promise<readonly string[]> => {
  await buildFiles({
    programs: at('programs'),
    out: at(out, 'files'),
    epoch: EPOCH,
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
  return signFiles({ out: at(out), epoch: EPOCH, key: loadSigningKey(generatePrivateKey()), gpg });
};
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

it('a release has packages, images and a component list for each, with all digests', async () => {
  expect(names).toEqual([
    `fleet-agent_${VERSION}.cdx.json`,
    `fleet-agent_${VERSION}_amd64.deb`,
    `fleet-agent_${VERSION}_amd64.oci.tar`,
    `fleet-export_${VERSION}.cdx.json`,
    `fleet-export_${VERSION}_amd64.deb`,
    `fleet-ferry-${VERSION}.cdx.json`,
    `fleet-ferry-${VERSION}_amd64.tgz`,
    `fleet-node_${NODE}.cdx.json`,
    `fleet-node_${NODE}_amd64.deb`,
    `fleet-scheduler_${VERSION}.cdx.json`,
    `fleet-scheduler_${VERSION}_amd64.deb`,
  ]);
  await runOrFail(['sha256sum', '--check', '--strict', 'SHA256SUMS'], { cwd: at('one/files') });
  expect(said.filter((line) => line.startsWith('Packing '))).toHaveLength(4);
  expect(said[1]).toMatch(/^Packed fleet-agent: \d+\.\d MB in 0 s$/);
});

it('a release that is built twice has the same bytes, except its signatures', async () => {
  expect(await release('two')).toEqual(names);
  for (const file of ['files/SHA256SUMS', 'apt/dists/stable/Release'])
    expect(await readFile(at('two', file), 'utf8')).toBe(await readFile(at('one', file), 'utf8'));
});

it('files of two machines are joined, and refused when a shared name has different bytes', async () => {
  await mkdir(at('arm'));
  const [shared, own] = [`fleet-agent_${VERSION}.cdx.json`, `fleet-agent_${VERSION}_arm64.deb`];
  await cp(at('one/files', shared), at('arm', shared));
  await writeFile(at('arm', own), 'for arm64');
  await joinFiles([at('one/files'), at('arm')], at('joined'));
  const joined = await readdir(at('joined'));
  expect(joined).toEqual(expect.arrayContaining([shared, own, `fleet-agent_${VERSION}_amd64.deb`]));
  await writeFile(at('arm', shared), 'of another commit');
  await expect(joinFiles([at('one/files'), at('arm')], at('joined'))).rejects.toMatchObject({
    code: 'DIGEST_MISMATCH',
  });
});

it('the component list of a program names every package of its notices, SQLite, the page and Node.js, as valid CycloneDX', async () => {
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
  for (const notice of notices) {
    const shared = [...notice.matchAll(/^The text is that of (.+), above\.$/gm)];
    expect(shared.length).toBeGreaterThan(0);
    for (const { 1: first, index } of shared) expect(notice.slice(0, index)).toContain(`${first} (`);
  }
  expect(components.filter((one) => /^(sqlite|node|react) /.test(one))).toHaveLength(2);
  for (const name of [`fleet-agent_${VERSION}`, `fleet-node_${NODE}`]) {
    const { components: own } = await sbom(at('one/files', `${name}.cdx.json`));
    expect(own.map((one) => one.name)).toContain('node');
  }
  // What npm checked when it installed them.
  const npm = listed.components.filter(({ purl }) => purl?.startsWith('pkg:npm/'));
  expect(npm.filter(({ hashes }) => hashes === undefined)).toEqual([]);
});

it('a Debian package contains its component list', async () => {
  const debs = names.filter((name) => name.endsWith('.deb'));
  for (const deb of debs) {
    const unpacked = at('unpacked', deb);
    await mkdir(unpacked, { recursive: true });
    await runOrFail(['dpkg-deb', '--extract', at('one/files', deb), unpacked]);
    const [name = ''] = deb.split('_');
    // That of fleet-node is plain: its package stays the same from release to release.
    const doc = join(unpacked, 'usr/share/doc', name);
    const listed =
      name === 'fleet-node'
        ? await readFile(join(doc, 'sbom.cdx.json'))
        : gunzipSync(await readFile(join(doc, 'sbom.cdx.json.gz')));
    expect(listed.toString()).toBe(
      await readFile(at('one/files', deb.replace('_amd64.deb', '.cdx.json')), 'utf8'),
    );
    expect(await readdir(join(unpacked, 'usr/lib', name))).not.toContain('sbom.cdx.json');
  }
});

it('the package of Node.js has the same bytes in every release with the same Node.js', async () => {
  const node = await thinNode(folder.path);
  const [later = ''] = await buildDebs({
    programs: at('programs'),
    out: at('later'),
    epoch: EPOCH + 86_400,
    compression: 'none',
    version: '9.0.0',
    names: ['fleet-node'],
    node,
  });
  expect(await readFile(later)).toEqual(await readFile(at('one/files', `fleet-node_${NODE}_amd64.deb`)));
  // What is around Node changes with a new revision in node-deb.ts, and with this digest. The size is that of the script of thinNode.
  const { stdout } = await runOrFail(['dpkg-deb', '--field', later]);
  const around = `${stdout.replace(/^Installed-Size: .*\n/m, '')}${NODE}`.replaceAll(node.version, '<node>');
  expect(digestOf(Buffer.from(around))).toMatchInlineSnapshot(
    `"sha256:ec54a1d9582b49e5bf3541393b157e66b6793c343e2d5d5a971f6b1e702bdb83"`,
  );
});

it('files that systemd runs directly from a package are executable', async () => {
  const { stdout } = await runOrFail([
    'dpkg-deb',
    '--contents',
    at('one/files', `fleet-agent_${VERSION}_amd64.deb`),
  ]);
  expect(stdout).toMatch(/^-rwxr-xr-x .*\/system-generators\/fleet-agent-generator$/m);
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

  it('verifies each file of a release by the one statement, and refuses a changed file', async () => {
    for (const name of names) expect([name, (await verify(name)).code]).toEqual([name, 0]);
    await writeFile(at('one/files/changed'), 'changed');
    expect((await verify('changed')).code).not.toBe(0);
  });
});

describeOnDebians([], 'the apt repository of a release', ({ base, debian, itOnce }) => {
  let host: FactoryHost;
  const update = async (folderName: string) => {
    const source = `deb [signed-by=/srv/release/apt/fleet-ferry.gpg] file:/srv/release/${folderName} stable main`;
    // The host has no network for the sources of Debian.
    await host.sh('rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*');
    await host.sh(`echo '${source}' > /etc/apt/sources.list.d/fleet-ferry.list`);
    return host.exec(['apt-get', 'update']);
  };
  const apt = (words: string) => host.sh(`apt-get --yes --no-install-recommends ${words}`);
  /** Those that are installed, as 'fleet-agent 0.1.0'; each program of them starts. */
  const installed = async (): Promise<readonly string[]> => {
    const shown = await host.sh(
      `dpkg-query --show --showformat='\${db:Status-Abbrev}\${Package} \${Version}\\n' 'fleet-*' | sed -n 's/^ii *//p'; apt-get --quiet=2 check; dpkg --audit`,
    );
    const packages = shown.split('\n');
    for (const [name = ''] of packages.map((one) => one.split(' ')))
      if (name !== 'fleet-node')
        expect(await host.sh(`${name} --version`)).toContain(`${name}/${VERSION} linux-x64 node-v24.`);
    return packages;
  };
  const agent = `fleet-agent ${VERSION}`;
  const exporter = `fleet-export ${VERSION}`;
  const scheduler = `fleet-scheduler ${VERSION}`;
  const node = `fleet-node ${NODE}`;

  beforeAll(async () => {
    await oldRepository();
    host = stack.use(
      await startFactoryHost(`release-${debian}`, {
        base,
        node: false,
        // apt reads as a user who may not enter a temporary folder.
        binds: [{ from: at('one'), to: '/srv/release' }, THIN_NODE_BIND],
      }),
    );
  });

  it('installs one Node.js for two programs of the office, also over packages with their own, and a downgrade', async () => {
    expect((await update('old')).code).toBe(0);
    await apt('install fleet-export fleet-scheduler');
    expect(await installed()).toEqual(['fleet-export 0.0.9', 'fleet-scheduler 0.0.9']);
    const { code, stderr } = await update('apt');
    expect([stderr, code]).toEqual(['', 0]);
    await apt('install fleet-export fleet-scheduler');
    expect(await installed()).toEqual([exporter, node, scheduler]);
    await host.sh(
      'dpkg --install --force-downgrade /srv/release/old/pool/main/f/fleet-ferry/fleet-export_*.deb',
    );
    expect(await installed()).toEqual(['fleet-export 0.0.9', node, scheduler]);
    await apt('purge fleet-export fleet-scheduler fleet-node');
  });

  it('lets the programs share the Node.js of the agent, and of fleet-node when the agent is removed', async () => {
    await apt('install fleet-export fleet-agent fleet-scheduler');
    expect(await installed()).toEqual([agent, exporter, scheduler]);
    expect(await host.sh('apt-cache policy fleet-agent')).toContain('500 file:/srv/release/apt stable/main');
    // A trial of the agent that goes back installs a version that knows nothing of other programs.
    await host.sh(
      'dpkg --install --force-downgrade /srv/release/old/pool/main/f/fleet-ferry/fleet-agent_*.deb',
    );
    expect(await installed()).toEqual(['fleet-agent 0.0.9', exporter, scheduler]);
    expect((await host.exec(['dpkg', '--remove', 'fleet-agent'])).stderr).toContain(
      'fleet-export depends on fleet-node (>= 24) | fleet-agent',
    );
    await apt('purge fleet-agent');
    expect(await installed()).toEqual([exporter, node, scheduler]);
  });

  itOnce('gives TOOL_MISSING with the package when dpkg installs a program without its Node.js', async () => {
    await apt('purge fleet-export fleet-scheduler fleet-node');
    const pool = '/srv/release/apt/pool/main/f/fleet-ferry';
    const alone = await host.exec(['/bin/sh', '-c', `dpkg --install ${pool}/fleet-export_*.deb`]);
    expect(alone.stderr).toContain('fleet-export depends on fleet-node (>= 24) | fleet-agent; however:');
    expect(await host.exec(['fleet-export', '--version'])).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/^TOOL_MISSING: .* Install the package fleet-node\.\n$/),
    });
    await host.sh(`dpkg --install ${pool}/fleet-export_*.deb ${pool}/fleet-node_*.deb`);
    expect(await installed()).toEqual([exporter, node]);
  });

  it('is refused by apt when another key signed its index', async () => {
    await using stranger = await openGpg(undefined);
    const debs = names.filter((name) => name.endsWith('.deb')).map((name) => at('one/files', name));
    await writeAptRepository({ debs, out: at('one/forged'), epoch: EPOCH, clearSign: stranger.clearSign });
    expect((await update('forged')).code).not.toBe(0);
  });
});

/** The three programs as they were packed before fleet-node was a package: each with a Node of its own, which depends on nothing of ours. */
const oldRepository = async (): Promise<void> => {
  if (existsSync(at('one/old'))) return;
  const node = await thinNode(folder.path);
  const shared = { programs: at('programs'), epoch: EPOCH, compression: 'none', node } as const;
  const built = await buildDebs({ ...shared, out: at('old'), version: '0.0.9' });
  const debs = built.filter((deb) => !basename(deb).startsWith('fleet-node'));
  for (const deb of debs) {
    const [name = ''] = basename(deb).split('_');
    const unpacked = at('old', name);
    await runOrFail(['dpkg-deb', '--raw-extract', deb, unpacked]);
    await cp(node.program, join(unpacked, 'usr/lib', name, 'node'));
    const control = join(unpacked, 'DEBIAN/control');
    const text = await readFile(control, 'utf8');
    await writeFile(control, text.replace(', fleet-node (>= 24) | fleet-agent', ''));
    await runOrFail(['dpkg-deb', '-Znone', '--root-owner-group', '--build', unpacked, deb]);
  }
  await writeAptRepository({ debs, out: at('one/old'), epoch: EPOCH, clearSign: gpg.clearSign });
};

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
