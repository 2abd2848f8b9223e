import { join } from 'node:path';
import { expect, test } from 'vitest';
import { canonicalBytes, type Json } from '../../../bundles/json/canonical.ts';
import { digestOf } from '../../../bundles/digest.ts';
import type { BundleConfig } from '../../../bundles/formats/bundle/config.ts';
import { readBundle } from '../../../bundles/formats/bundle/read-bundle.ts';
import { encodeManifest } from '../../../bundles/formats/layout/manifest.ts';
import { openLayout } from '../../../bundles/formats/layout/layout.ts';
import { readBlob } from '../../../bundles/formats/layout/verified.ts';
import type { BundlePredicate } from '../../../bundles/formats/statements/predicates.ts';
import { PREDICATES } from '../../../bundles/media-types.ts';
import { signPayload } from '../../../bundles/trust/statements/sign-payload.ts';
import { encodeStatement } from '../../../bundles/trust/statements/verify-statement.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { lineagesOf } from '../../../scheduler/load/releases/check-promoted.ts';
import { readRelease } from '../../../scheduler/load/releases/read-release.ts';
import { openReleases } from '../../../scheduler/release/write/open-releases.ts';
import { writeRelease } from '../../../scheduler/release/write/write-release.ts';
import { releaseReferences } from '../../../scheduler/release/reissue/reissue-release.ts';
import { makeTeams, NOW, plainTeam, type Teams } from '../../harness/fleets/two-teams.ts';
import { temporaryDirectory } from '../file-tree.ts';
import { verdict } from '../../bundles/verdict.ts';
import { readAllSigned } from './read-all-signed.ts';

/** Releases that versions before signed although no reader takes them: what a build makes of them. */
const CHANNEL = { environment: 'prod', clusterType: 'host' };

type Change = {
  readonly config?: (config: BundleConfig) => object;
  readonly predicate?: (predicate: BundlePredicate) => object;
};

/** Signs the next release of the hosts with other content than the program would sign. */
const sign = async (
  teams: Teams,
  { config: changeConfig, predicate: changePredicate }: Change,
): Promise<void> => {
  const keys = await openKeyDirectory(join(teams.folder, 'keys'));
  using releases = await openReleases(teams.layout, { command: 'test', now: NOW });
  const layout = await releases.open();
  const previous = (await readRelease(layout, CHANNEL, keys.roots))!;
  const [predicate] = await lineagesOf(layout, previous);
  const { config, manifest } = await readBundle(layout.blobs, previous.subjects.get('bundle/host')!);
  const put = async (bytes: Buffer) => {
    await layout.blobs.write(digestOf(bytes), bytes.byteLength, bytes);
    return { digest: digestOf(bytes), size: bytes.byteLength };
  };
  const stored = await put(canonicalBytes((changeConfig?.(config) ?? config) as Json));
  const bundle = encodeManifest({ ...manifest, config: { ...manifest.config, ...stored } });
  await put(bundle.bytes);
  const said = changePredicate?.(predicate!) ?? predicate!;
  const subject = { name: 'bundle', digest: bundle.descriptor.digest };
  const statement = encodeStatement([subject], PREDICATES.bundle, said as Json);
  const { artifact, references } = await writeRelease(layout, keys, {
    channel: CHANNEL,
    bundle: { kind: 'host', digest: subject.digest, manifest: bundle.descriptor, minAgent: null },
    candidate: await readBlob(layout.blobs, predicate!.candidate, 1 << 20),
    bundleStatements: [await signPayload(statement, await keys.key('bundle'))],
    previous,
    rollout: { percent: 100 },
    documents: [],
    revocations: { fleet: 'acme', ...CHANNEL, revoked: [] },
    now: NOW,
  });
  await releases.point(new Map([...references, ...releaseReferences(CHANNEL, artifact, previous)]));
};

const LONG_INPUT: Change = {
  config: (config) => ({
    ...config,
    siteInputs: {
      schema: {},
      fields: [{ input: 'n'.repeat(300), assignment: 'other-host', file: '/etc/other/a', pointer: '/A' }],
    },
  }),
};
const LONG_PATH: Change = {
  predicate: (predicate) => ({
    ...predicate,
    sources: predicate.sources.map((source) => ({ ...source, path: 'p'.repeat(1100) })),
  }),
};
const MANY_NAMES: Change = {
  config: (config) => ({
    ...config,
    closure: [
      {
        digest: `sha256:${'0'.repeat(64)}`,
        size: 1,
        mediaType: 'application/octet-stream',
        names: Array.from({ length: 65 }, (_, at) => `registry.example/n${at}@sha256:${'0'.repeat(64)}`),
      },
    ],
  }),
};

const twoTeams = async (): Promise<Teams> => {
  const teams = await makeTeams(await temporaryDirectory());
  await teams.team('payments', plainTeam('payments', 1));
  await teams.team('other', plainTeam('other', 1));
  await teams.build();
  return teams;
};

const hosts = async (teams: Teams, build = teams.build()) =>
  (await build).channels.find(({ clusterType }) => clusterType === 'host')!;

test.each([
  ['a bundle config', LONG_INPUT],
  ['a bundle statement', LONG_PATH],
  ['65 names of one image', MANY_NAMES],
])(
  'N61: %s that was signed and that no reader takes is passed over, and everybody ships',
  async (_, change) => {
    const teams = await twoTeams();
    await sign(teams, change);
    await expect(readAllSigned(teams.layout)).rejects.toMatchObject({ code: 'SCHEMA' });
    await teams.team('payments', plainTeam('payments', 2));
    const built = await hosts(teams);
    expect(built).toMatchObject({ outcome: 'released', version: 3, assignments: 2, removals: [] });
    expect(built.unread?.message).toMatch(
      /^release 2 of prod\/host was signed and cannot be read: .*; the build continues from release 1$/,
    );
    expect(await readAllSigned(teams.layout)).toMatchObject({ 'payments-host': '2' });
    expect(await verdict(() => readAllSigned(teams.layout))).toBe('ACCEPT');
    // It is said once.
    expect(await hosts(teams)).toMatchObject({ outcome: 'unchanged', version: 3 });
    expect((await hosts(teams)).unread).toBeUndefined();
  },
);

test('an unreadable release is replaced even if the bundle equals the one before it', async () => {
  const teams = await twoTeams();
  await sign(teams, LONG_PATH);
  expect(await hosts(teams)).toMatchObject({ outcome: 'released', version: 3 });
  expect(await readAllSigned(teams.layout)).toMatchObject({ 'payments-host': '1' });
});

test('after an unreadable release a held assignment keeps its package of the release before, and nothing is removed', async () => {
  const teams = await twoTeams();
  await sign(teams, LONG_INPUT);
  await teams.team('other', { ...plainTeam('other', 2), 'host/package.yaml': '{nonsense' });
  const built = await hosts(teams);
  expect(built).toMatchObject({ outcome: 'released', version: 3, assignments: 2, removals: [] });
  expect(built.held).toMatchObject([{ assignment: 'other-host' }]);
  expect(built.held[0]?.kept).toBeDefined();
  // A package that the platform withdraws goes, as it would after a release that can be read.
  await sign(teams, LONG_INPUT);
  await teams.dismiss('other');
  expect(await hosts(teams)).toMatchObject({
    outcome: 'released',
    version: 5,
    removals: [{ assignment: 'other-host', why: 'deleted' }],
  });
});

test('without an earlier readable release, no held assignment may be missing', async () => {
  const teams = await twoTeams();
  await sign(teams, LONG_INPUT);
  using releases = await openReleases(teams.layout, { command: 'test', now: NOW });
  const past = (await openLayout(teams.layout)).manifests.flatMap(({ annotations }) => {
    const name = annotations?.['org.opencontainers.image.ref.name'] ?? '';
    return name.startsWith('prod/host:r-') ? [name] : [];
  });
  await releases.point(new Map(), past);
  releases[Symbol.dispose]();
  await teams.team('other', { ...plainTeam('other', 2), 'host/package.yaml': '{nonsense' });
  expect(await hosts(teams)).toMatchObject({ outcome: 'blocked', version: 2 });
  await teams.team('other', plainTeam('other', 2));
  expect(await hosts(teams)).toMatchObject({ outcome: 'released', version: 3 });
});

test('a damaged release fails the build, with a hint what to restore', async () => {
  const teams = await twoTeams();
  const keys = await openKeyDirectory(join(teams.folder, 'keys'));
  const layout = await openLayout(teams.layout);
  const release = (await readRelease(layout, CHANNEL, keys.roots))!;
  const { manifest } = await readBundle(layout.blobs, release.subjects.get('bundle/host')!);
  await layout.blobs.remove(manifest.config.digest);
  await teams.team('payments', plainTeam('payments', 2));
  await expect(teams.build()).rejects.toMatchObject({ code: 'MISSING_BLOB' });
});
