import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Digest, hexOf } from '../../../bundles/digest.ts';
import { makeCompany } from '../../harness/fleets/company.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { type Outcome, runCommand, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { NOW, newFleet, newSigningKey, type SignedFleet } from '../../harness/fleets/signed-fleet.ts';
import { type TestBundle, writeSignedLayout } from '../../harness/fleets/signed-layout.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const CHANNEL = { environment: 'prod', clusterType: 'kiosk' };

const KIOSK = ['--channel', 'prod/kiosk', '--kind'] as const;

const bundleOf = (text: string, kind: TestBundle['kind'], layers: readonly Uint8Array[]): TestBundle => ({
  kind,
  packages: { web: { 'app.yaml': `text: ${text}\n` } },
  images: [{ name: 'web', layers }],
});

let folder: TemporaryDirectory;
let fleet: SignedFleet;
let bundle: Digest;
let image: string;

const path = (...names: readonly string[]): string => join(folder.path, ...names);

const env = (): NodeJS.ProcessEnv => ({ ...process.env, FLEET_NOW: NOW.toISOString(), HOME: path('home') });

const fleetExport = (...words: readonly string[]): Promise<Outcome> => runExporter(folder.path, words, env());

beforeAll(async () => {
  folder = await temporaryDirectory('exporter-tools');
  await mkdir(path('home'));
  fleet = await newFleet();
  const layout = writeSignedLayout(fleet, path('layout'));
  await layout.site({
    site: 'plant-7',
    version: 1,
    agents: [{ name: 'line-1', channel: CHANNEL, key: newSigningKey() }],
  });
  const layers = [Buffer.alloc(300_000, 'base'), Buffer.alloc(1000, 'one')];
  const found = await layout.release({
    channel: CHANNEL,
    version: 1,
    bundles: [bundleOf('one', 'kubernetes', layers), bundleOf('one', 'host', layers)],
  });
  bundle = found[0] as Digest;
  await writeFile(path('bundle.pub'), fleet.keys.bundle.public.pem);
  await writeFile(path('release.pub'), fleet.keys.release.public.pem);
  succeed(await fleetExport('create', '--from', 'layout', '--site', 'plant-7', '--to', 'medium'));
  const index = JSON.parse(await readFile(path('medium/index.json'), 'utf8')) as {
    manifests: { annotations: Record<string, string> }[];
  };
  const names = index.manifests.flatMap(({ annotations }) => Object.values(annotations));
  image = names.find((name) => name.includes(':i-')) ?? '';
});

afterAll(() => folder[Symbol.asyncDispose]());

describe('the fleet-export program', () => {
  it('prints one line, and with --json what it did', async () => {
    const text = await fleetExport('create', '--all', '--from', 'layout', '--to', 'plain');
    // Beside the warning of every development fleet.
    expect(text).toMatchObject({ code: 0, stderr: expect.stringMatching(/^DEV ROOT: [^\n]*\n$/) });
    expect(text.stdout).toMatch(
      /^plain: \d+\.\d KiB written, 0 bytes assumed at the sites; prod\/kiosk 1 is new; read back, safe to unplug\n$/,
    );
    const { code, stdout } = await fleetExport(
      'create',
      '--all',
      '--from',
      'layout',
      '--to',
      'plain',
      '--json',
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ written: 0, removed: 0, changes: [], safeToUnplug: true });
  });

  it('plans without writing', async () => {
    const { code, stdout } = await fleetExport(
      'plan',
      '--from',
      'layout',
      '--for',
      'medium',
      '--to',
      'planned',
    );
    expect(code).toBe(0);
    expect(stdout).toContain('medium has 7 of 7 blobs');
    expect(existsSync(path('planned'))).toBe(false);
  });

  it('inspects, verifies, and ends with the exit code of the refusal', async () => {
    expect((await fleetExport('inspect', 'medium')).stdout).toContain('Nothing here was verified');
    succeed(await fleetExport('verify', 'medium'));
    await cp(path('medium'), path('damaged'), { recursive: true });
    await rm(path('damaged/blobs/sha256', hexOf(bundle)));
    const { code, stdout } = await fleetExport('verify', 'damaged');
    expect(code).toBe(5);
    expect(stdout).toContain('REFUSED kubernetes bundle prod/kiosk: MISSING_BLOB');
    const other = await fleetExport('verify', 'medium', '--root-sha256', '0'.repeat(64), '--json');
    expect(other.code).toBe(4);
    expect(JSON.parse(other.stdout)).toMatchObject({ ok: false, checks: [{ code: 'ROOT_UNKNOWN' }] });
  });

  it.each([
    [2, 'USAGE', ['create', '--from', 'layout']],
    [2, 'USAGE', ['create', '--from', 'layout', '--to', 'x']],
    [2, 'USAGE', ['create', '--all', '--from', 'layout', '--to', 'x', '--max-file-size', 'big']],
    [3, 'NAME_INVALID', ['create', '--from', 'layout', '--to', 'x', '--channel', 'prod']],
    [5, 'MEDIUM_MISSING', ['verify', 'nowhere']],
    [5, 'CHANNEL_MISSING', ['create', '--from', 'layout', '--to', 'x', '--channel', 'qa/kiosk']],
  ])('ends with %d and %s', async (exit, code, words) => {
    const { code: actual, stdout, stderr } = await fleetExport(...words);
    expect(stderr).toContain(`fleet-export: ${code}: `);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stdout).toBe('');
    expect(actual).toBe(exit);
  });
});

describe('a release of the scheduler', () => {
  it('is exported to one medium with all channels, which verify accepts', async () => {
    const company = await makeCompany(path('company'));
    const { channels } = await company.build();
    const words = ['create', '--all', '--from', 'company/releases', '--to', 'company.tar', '--json'];
    const { code, stdout } = await fleetExport(...words);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ assumed: 0, safeToUnplug: true });
    const verified = await fleetExport('verify', 'company.tar', '--json');
    succeed(verified);
    const { checks } = JSON.parse(verified.stdout) as { checks: { what: string }[] };
    const names = channels.map(({ environment, clusterType }) => `release ${environment}/${clusterType}`);
    expect(checks.map(({ what }) => what)).toEqual(expect.arrayContaining(names));
    expect(names.length).toBeGreaterThan(10);
  });
});

describeWith(['cosign'], 'stock cosign', ({ cosign }) => {
  const statement = async (role: string): Promise<{ file: string; subjects: readonly string[] }> => {
    const medium = JSON.parse(await readFile(path('medium/fleet/medium.json'), 'utf8')) as {
      documents: { role: string; digest: Digest; about?: Digest }[];
    };
    const found = medium.documents.find((it) => it.role === role && (it.about ?? bundle) === bundle);
    const file = path('medium/blobs/sha256', hexOf(found?.digest as Digest));
    const { dsseEnvelope } = JSON.parse(await readFile(file, 'utf8')) as {
      dsseEnvelope: { payload: string };
    };
    const { subject } = JSON.parse(Buffer.from(dsseEnvelope.payload, 'base64').toString()) as {
      subject: { digest: { sha256: string } }[];
    };
    return { file, subjects: subject.map(({ digest }) => digest.sha256) };
  };
  const verifyBlob = async (role: string, key: string): Promise<Outcome> => {
    const { file, subjects } = await statement(role);
    const [digest = ''] = role === 'bundle' ? [hexOf(bundle)] : subjects;
    const words = ['--insecure-ignore-tlog', '--type', `urn:fleet-ferry:${role}:v1`, '--digestAlg', 'sha256'];
    return runCommand(
      [cosign, 'verify-blob-attestation', '--key', key, ...words, '--digest', digest, '--bundle', file],
      { cwd: folder.path, env: env() },
    );
  };
  const verifyImage = (layout: string, key: string, type = 'bundle'): Promise<Outcome> =>
    runCommand(
      [
        cosign,
        'verify-attestation',
        '--key',
        key,
        '--insecure-ignore-tlog',
        '--type',
        `urn:fleet-ferry:${type}:v1`,
        '--local-image',
        layout,
      ],
      { cwd: folder.path, env: env() },
    );

  it('verifies the statements of a medium with the key of their role, and with no other', async () => {
    for (const [role, key] of [
      ['bundle', 'bundle.pub'],
      ['release', 'release.pub'],
      ['site', 'release.pub'],
    ] as const)
      succeed(await verifyBlob(role, key));
    expect((await verifyBlob('bundle', 'release.pub')).code).not.toBe(0);
  });

  it('verifies an extracted bundle with the right key, type and content, and refuses others', async () => {
    for (const kind of ['kubernetes', 'host']) {
      const to = `extracted-${kind}`;
      succeed(await fleetExport('extract', 'medium', ...KIOSK, kind, '--to', to));
      succeed(await verifyImage(to, 'bundle.pub'));
      expect((await verifyImage(to, 'release.pub')).code).not.toBe(0);
      expect((await verifyImage(to, 'bundle.pub', 'release')).code).not.toBe(0);
    }
    // cosign takes the digest from index.json: another bundle in its place has none of the statements.
    const index = await readFile(path('extracted-kubernetes/index.json'), 'utf8');
    const { bundle: host } = JSON.parse(
      (await fleetExport('extract', 'medium', ...KIOSK, 'host', '--to', 'host', '--json')).stdout,
    ) as { bundle: { digest: Digest; size: number } };
    const manifest = join('blobs/sha256', hexOf(host.digest));
    await cp(path('host', manifest), path('extracted-kubernetes', manifest));
    await writeFile(path('extracted-kubernetes/index.json'), index.replace(bundle, host.digest));
    expect((await verifyImage('extracted-kubernetes', 'bundle.pub')).code).not.toBe(0);
  });
});

describeWith(['skopeo'], 'skopeo', ({ skopeo }) => {
  const copy = (from: string, to: string): Promise<Outcome> =>
    runOrFail([skopeo, '--insecure-policy', 'copy', '--preserve-digests', from, to], {
      cwd: folder.path,
      env: env(),
    });

  it('copies a bundle and an image out of a medium by name, from a folder and a tar', async () => {
    await fleetExport('create', '--all', '--from', 'layout', '--to', 'skopeo.tar');
    for (const [index, from] of [
      `oci:medium:prod/kiosk:b-${hexOf(bundle)}`,
      `oci:medium:${image}`,
      `oci-archive:skopeo.tar:prod/kiosk:b-${hexOf(bundle)}`,
      `oci-archive:skopeo.tar:${image}`,
    ].entries()) {
      await copy(from, `oci:skopeo-${index}:copy`);
      const digest = from.slice(-64);
      expect(existsSync(path(`skopeo-${index}/blobs/sha256`, digest))).toBe(true);
    }
  });
});

describeWith(['oras'], 'oras', ({ oras }) => {
  it('copies a bundle and an image out of a medium by digest, from a folder and a tar', async () => {
    await fleetExport('create', '--all', '--from', 'layout', '--to', 'oras.tar');
    for (const [index, from] of [
      `medium@${bundle}`,
      `medium@sha256:${image.slice(-64)}`,
      `oras.tar@${bundle}`,
      `oras.tar@sha256:${image.slice(-64)}`,
    ].entries()) {
      const words = ['cp', '--no-tty', '--from-oci-layout', from, '--to-oci-layout', `oras-${index}:copy`];
      await runOrFail([oras, ...words], { cwd: folder.path, env: env() });
      expect(existsSync(path(`oras-${index}/blobs/sha256`, from.slice(-64)))).toBe(true);
    }
  });
});
