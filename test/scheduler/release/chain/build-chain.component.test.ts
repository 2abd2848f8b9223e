import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../../bundles/digest.ts';
import { FleetError } from '../../../../bundles/errors.ts';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '../../../../bundles/trust/keys/key.ts';
import { signPayload } from '../../../../bundles/trust/statements/sign-payload.ts';
import { approve } from '../../../../scheduler/release/approvals/approve.ts';
import { findReference, openLayout } from '../../../../bundles/formats/layout/layout.ts';
import { PREDICATES } from '../../../../bundles/media-types.ts';
import { encodeStatement } from '../../../../bundles/trust/statements/verify-statement.ts';
import { lineagesOf } from '../../../../scheduler/load/releases/check-promoted.ts';
import {
  readRestatements,
  restatementsReference,
  withRestatement,
} from '../../../../scheduler/load/releases/restatements.ts';
import { readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { restateBundle } from '../../../../scheduler/release/approvals/restate-bundle.ts';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import { FILES, NOW, openBuiltOffice, openChainOffice, summarise } from './chain-office.ts';
import { ours } from '../../fleet-platform.ts';

const refusalOf = async (work: Promise<unknown>): Promise<FleetError> => {
  const error = await work.then(
    () => new Error('it was let through'),
    (reason: unknown) => reason,
  );
  if (error instanceof FleetError) return error;
  throw error;
};

test('a chained environment waits for its first promotion', async () => {
  const office = await openChainOffice();
  const first = await office.build();
  expect(summarise(first)).toEqual(['dev/press released 1', 'qa waits', 'prod waits']);
  expect(first.environments[1]?.waits?.code).toBe('NOT_PROMOTED');
  await office.promote('dev', 'qa');
  expect(summarise(await office.build())).toEqual([
    'dev/press unchanged 1',
    'qa/press released 1',
    'prod waits',
  ]);
  const [dev, qa] = [await office.released('dev'), await office.released('qa')];
  expect(qa?.promoted).toBe(dev?.shared);
  expect(dev?.promoted).toBeUndefined();
});

test('a commit to base/ reaches qa only once it is promoted', async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  await office.build();
  office.config('base/level.yaml', 'base-1');
  expect(summarise(await office.build())).toEqual([
    'dev/press released 2',
    'qa/press unchanged 1',
    'prod waits',
  ]);
  await office.promote('dev', 'qa');
  expect(summarise(await office.build())).toEqual([
    'dev/press unchanged 2',
    'qa/press released 2',
    'prod waits',
  ]);
});

test('a candidate rejected after its promotion is not released until another candidate is promoted', async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  await office.reject('qa', 'it corrupts labels');
  const built = await office.build();
  expect(summarise(built)).toEqual(['dev/press unchanged 1', 'qa waits', 'prod waits']);
  expect(built.environments[1]?.waits).toMatchObject({
    code: 'NOT_PROMOTED',
    message: expect.stringMatching(
      /^the promoted candidate sha256:\w+ was rejected by ada at .*: it corrupts labels$/,
    ),
  });
  office.config('base/level.yaml', 'base-1');
  await office.build();
  await office.promote('dev', 'qa');
  expect(summarise(await office.build())[1]).toBe('qa/press released 1');
});

test('a candidate rejected after its release stays released and gets no direct change', async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  await office.build();
  await office.reject('qa', 'it corrupts labels');
  office.commit({ 'environments/qa/own.yaml': ours('Config', 'own', 'spec:\n  values: {OWN: "qa-1"}\n') });
  expect(summarise(await office.build())).toEqual([
    'dev/press unchanged 1',
    'qa waits',
    'qa/press unchanged 1',
    'prod waits',
  ]);
});

test("a change of the environment's own layer is released and marked direct", async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  await office.build();
  office.commit({ 'environments/qa/own.yaml': ours('Config', 'own', 'spec:\n  values: {OWN: "qa-1"}\n') });
  expect(summarise(await office.build())).toEqual([
    'dev/press unchanged 1',
    'qa/press released 2 direct',
    'prod waits',
  ]);
});

test('a policy can forbid direct changes, until the next promotion', async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  await office.build();
  office.commit({
    'promotion/qa.yaml': ours('PromotionPolicy', 'qa', 'spec: {from: dev, to: qa, direct: forbid}\n'),
    'environments/qa/own.yaml': ours('Config', 'own', 'spec:\n  values: {OWN: "qa-1"}\n'),
    'base/level.yaml': ours('Config', 'level', 'spec:\n  values: {LEVEL: "base-1"}\n'),
  });
  expect(summarise(await office.build())).toEqual([
    'dev/press released 2',
    'qa/press direct-held 1 direct',
    'prod waits',
  ]);
  await office.promote('dev', 'qa');
  expect(summarise(await office.build())[1]).toBe('qa/press released 2');
});

test('a change that affects only a later environment can be promoted', async () => {
  const office = await openBuiltOffice();
  office.commit({
    'apps/shop/deploy/workload.yaml': `${FILES['apps/shop/deploy/workload.yaml']}    - {name: till, environment: prod, manifests: {path: apps/shop/web}}\n`,
  });
  // The bundle of dev is the same: its newest statement says what may be promoted now, and no medium is needed.
  const built = await office.build();
  expect(built.channels[0]).toMatchObject({ outcome: 'unchanged', version: 1, restated: true });
  const again = await office.build();
  expect(again.channels[0]).toMatchObject({ outcome: 'unchanged', version: 1 });
  expect(again.channels[0]).not.toHaveProperty('restated');
  await office.promote('dev', 'qa');
  expect(summarise(await office.build())[1]).toBe('qa/press released 1');
  await office.promote('qa', 'prod');
  const prod = (await office.build({ environments: ['prod'] })).channels[0];
  expect(prod).toMatchObject({ outcome: 'released', assignments: 2 });
});

test('a commit that changes no bundle releases nothing, and its candidate can be promoted', async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  await office.build();
  office.commit({ 'apps/shop/web/README.txt': 'for people\n', 'apps/shop/deploy/notes.yaml': '# notes\n' });
  expect(summarise(await office.build())).toEqual([
    'dev/press unchanged 1',
    'qa/press unchanged 1',
    'prod waits',
  ]);
  const [dev, qa] = [await office.released('dev'), await office.released('qa')];
  expect(dev?.shared).not.toBe(qa?.promoted);
  await office.promote('dev', 'qa');
  expect(summarise(await office.build())[1]).toBe('qa/press unchanged 1');
  expect(await office.released('qa')).toMatchObject({ number: 1, promoted: dev?.shared });
  // A change of its own layer after that is direct: the release before is of the same promotion.
  office.commit({ 'environments/qa/own.yaml': ours('Config', 'own', 'spec:\n  values: {OWN: "qa-1"}\n') });
  expect(summarise(await office.build())[1]).toBe('qa/press released 2 direct');
});

test('a channel lists the last 50 candidates that restated its bundle, also after another bundle was released', async () => {
  const office = await openBuiltOffice();
  const channel = { environment: 'dev', clusterType: 'press' };
  const seen: string[] = [];
  const restated = async (): Promise<readonly string[]> =>
    readRestatements(await openLayout(office.layout), channel);
  expect(await restated()).toEqual([]);
  for (const text of ['one', 'two']) {
    office.commit({ 'apps/shop/web/README.txt': text, 'apps/shop/deploy/notes.yaml': `# ${text}\n` });
    await office.build();
    seen.push((await office.released('dev'))?.shared ?? '');
  }
  expect(new Set(seen).size).toBe(2);
  expect(await restated()).toEqual(seen);
  office.config('base/level.yaml', 'base-1');
  expect(summarise(await office.build())[0]).toBe('dev/press released 2');
  expect(await restated()).toEqual(seen);
  const layout = await openLayout(office.layout);
  const artifact = findReference(layout, restatementsReference(channel));
  if (!artifact) throw new Error('there is no record');
  using releases = await openReleases(office.layout, { command: 'build', now: NOW });
  for (let number = 0; number < 60; number++) {
    const entry = withRestatement(await openLayout(office.layout), channel, {
      artifact,
      shared: digestOf(String(number)),
    });
    await releases.point(new Map([[restatementsReference(channel), entry]]));
  }
  expect(await restated()).toEqual(Array.from({ length: 50 }, (_, at) => digestOf(String(at + 10))));
});

test("a newer statement about a released bundle counts only with the bundle key's signature", async () => {
  const office = await openBuiltOffice();
  const layout = await openLayout(office.layout);
  const channel = { environment: 'dev', clusterType: 'press' };
  const release = await readRelease(layout, channel, office.keys.roots);
  const [said] = release ? await lineagesOf(layout, release) : [];
  const bundle = release?.subjects.get('bundle/kubernetes');
  if (!said || bundle === undefined) throw new Error('dev has no release');
  const state = async (key: SigningKey) => {
    const predicate = { ...said, shared: digestOf('another candidate') };
    const payload = encodeStatement([{ name: 'bundle', digest: bundle }], PREDICATES.bundle, predicate);
    const stated = { files: [await signPayload(payload, key)], candidate: Buffer.from('{}') };
    using releases = await openReleases(office.layout, { command: 'build', now: NOW });
    await releases.point(await restateBundle(await releases.open(), channel, bundle, stated));
    return (await office.released('dev'))?.shared;
  };
  expect(await state(loadSigningKey(generatePrivateKey()))).toBe(said.shared);
  expect(await state(await office.keys.key('release'))).toBe(said.shared);
  expect(await state(await office.keys.key('bundle'))).toBe(digestOf('another candidate'));
});

test('a bundle that was replaced and built again is released with its own statement', async () => {
  const office = await openBuiltOffice();
  office.commit({ 'apps/shop/web/README.txt': 'for people\n' });
  await office.build();
  office.config('base/level.yaml', 'base-1');
  expect(summarise(await office.build())[0]).toBe('dev/press released 2');
  office.config('base/level.yaml', 'base-0');
  expect(summarise(await office.build())[0]).toBe('dev/press released 3');
  expect((await office.build()).channels[0]).not.toHaveProperty('restated');
});

test('an error in promotion/ stops chained environments only', async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  office.commit({ 'promotion/qa.yaml': ours('PromotionPolicy', 'qa', 'spec: {from: prod, to: qa}\n') });
  const built = await office.build();
  expect(built.environments.map(({ problems }) => problems.length)).toEqual([0, 1, 1]);
  expect(summarise(built)).toEqual(['dev/press unchanged 1']);
});

test('--candidate of another than the promoted candidate is refused with the command that promotes it', async () => {
  const office = await openBuiltOffice();
  const first = await office.candidateOf('dev');
  await office.promote('dev', 'qa');
  await office.build();
  office.config('base/level.yaml', 'base-1');
  await office.build();
  const second = await office.candidateOf('dev');
  const of = ({ digest, document }: typeof first) => ({ digest: digest as never, document });
  const refusal = await refusalOf(office.build({ candidate: of(second), environments: ['qa'] }));
  expect(refusal).toMatchObject({
    code: 'NOT_PROMOTED',
    hint: `Promote with: fleet-scheduler promote qa --candidate ${second.digest}`,
  });
  const own = await office.candidateOf('qa');
  for (const allowed of [first, own])
    expect(summarise(await office.build({ candidate: of(allowed), environments: ['qa'] }))).toEqual([
      'qa/press unchanged 1',
    ]);
  // A candidate that says it is qa's own, with the sources of the one that was not promoted.
  const forged = {
    digest: second.digest as never,
    document: { ...second.document, environment: 'qa', parent: first.digest as never },
  };
  expect((await refusalOf(office.build({ candidate: forged, environments: ['qa'] }))).code).toBe(
    'NOT_PROMOTED',
  );
});

test('a rollback releases the candidate that was promoted before', async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  await office.build();
  office.config('base/level.yaml', 'base-1');
  await office.build();
  await office.promote('dev', 'qa');
  await office.build();
  await office.rollback('qa', 1);
  expect((await office.released('qa'))?.number).toBe(3);
});

test('a release of a fleet before it had a chain is renewed while its environment waits', async () => {
  const free = ours('Fleet', 'halden', 'spec:\n  environments: [{name: dev}, {name: qa}, {name: prod}]\n');
  const office = await openChainOffice({ ...FILES, 'fleet.yaml': free });
  expect(summarise(await office.build())).toEqual([
    'dev/press released 1',
    'qa/press released 1',
    'prod/press released 1',
  ]);
  expect(await office.released('qa')).toEqual({ channel: 'qa/press', number: 1 });
  office.commit({ 'fleet.yaml': FILES['fleet.yaml'] as string });
  const later = new Date('2027-05-01T08:00:00Z');
  const renewed = await office.build({ now: later });
  expect(summarise(renewed)).toEqual([
    'dev/press released 2',
    'qa waits',
    'qa/press renewed 2',
    'prod waits',
    'prod/press renewed 2',
  ]);
});

test('a bundle that waits for an approver is refused once its candidate was rejected', async () => {
  const second = loadSigningKey(generatePrivateKey());
  const office = await openChainOffice(FILES, (directory) => {
    const { roles } = directory.root;
    const keys = [...roles.bundle.keys, second.public];
    const root = { ...directory.root, roles: { ...roles, bundle: { keys, threshold: 2 } } };
    return { ...directory, root, roots: [root] };
  });
  const approveBundle = async (environment: string) => {
    using releases = await openReleases(office.layout, { command: 'approve', now: NOW });
    return await approve(releases, office.keys, {
      channel: { environment, clusterType: 'press' },
      now: NOW,
      sign: ({ payload }) => signPayload(payload, second),
    });
  };
  expect(summarise(await office.build())).toContain('dev/press awaiting 0');
  expect(await approveBundle('dev')).toMatchObject({ outcome: 'released' });
  await office.promote('dev', 'qa');
  expect(summarise(await office.build())).toContain('qa/press awaiting 0');
  await office.reject('qa', 'labels are blank');
  await expect(approveBundle('qa')).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
    message: expect.stringContaining('rejected by ada'),
    hint: expect.stringContaining('promote qa'),
  });
});

const PEM = loadSigningKey(generatePrivateKey()).public.pem.trimEnd().replaceAll('\n', '\n      ');

describe('content that no earlier environment has', () => {
  const EXTRA = 'https://git.example/sales/extra';
  /** A deployment target that only prod has, whose files are in a repository of its own. */
  const withTill = (manifests: string, more: Readonly<Record<string, string>> = {}) => ({
    ...FILES,
    'base/sales.yaml': ours('Workspace', 'sales', `spec: {repositories: ["${EXTRA}"]}\n`),
    'apps/shop/deploy/workload.yaml': `${FILES['apps/shop/deploy/workload.yaml']}    - {name: till, environment: prod, manifests: ${manifests}}\n`,
    'extra/till.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: till}\ndata: {a: reviewed}\n',
    ...more,
  });
  const promotedToProd = async (files: Readonly<Record<string, string>>) => {
    const office = await openChainOffice(files);
    await office.build();
    await office.promote('dev', 'qa');
    await office.build();
    await office.promote('qa', 'prod');
    const [prod] = (await office.build({ environments: ['prod'] })).environments;
    return { office, prod };
  };

  test.each([
    ['a branch', `{repo: ${EXTRA}, branch: main, path: extra}`],
    ['a tag', `{repo: ${EXTRA}, ref: v1, path: extra}`],
    ['no branch', `{repo: ${EXTRA}, path: extra}`],
  ])('H37: a repository that nobody promoted is not read: by %s', async (_, manifests) => {
    const { prod } = await promotedToProd(withTill(manifests));
    const [channel] = prod?.channels ?? [];
    expect(channel?.held).toMatchObject([{ assignment: 'shop-till', code: 'NOT_PROMOTED' }]);
    expect(channel?.assignments).toBe(1);
    expect(channel?.held[0]?.message).toMatch(
      /^https:\/\/git\.example\/sales\/extra(?: at \w+)? is not among the sources of the promoted candidate sha256:\w+, so nothing of it was promoted to prod$/,
    );
  });

  test('is read at the commit that the promoted Workload names, and not at a later one', async () => {
    const first = digestOf('0').slice(7);
    const { office, prod } = await promotedToProd(withTill(`{repo: ${EXTRA}, ref: "${first}", path: extra}`));
    expect(prod?.channels[0]).toMatchObject({ outcome: 'released', held: [], assignments: 2 });
    office.commit({ 'extra/till.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n' });
    expect(summarise(await office.build({ environments: ['prod'] }))).toEqual(['prod/press unchanged 1']);
  });

  test.each([
    ['Workspace', 'spec: {host: {users: [root]}}\n'],
    ['WorkloadRegistration', 'spec: {workspace: x, workload: {repo: ., path: apps/shop/deploy}}\n'],
    ['Workload', 'spec: {deploymentTargets: [{name: web, environment: prod, manifests: {path: .}}]}\n'],
    ['Template', 'spec: {type: namespace, manifests: ["kind: Namespace"]}\n'],
    ['ImagePolicy', `spec:\n  match: ["**"]\n  keys:\n    - |\n      ${PEM}\n`],
  ])('H38: rights in the own folder of the environment are not taken: a %s', async (kind, spec) => {
    const { office } = await promotedToProd(FILES);
    office.commit({ 'environments/prod/own-rights.yaml': ours(kind, 'mine', spec) });
    expect(await refusalOf(office.build({ environments: ['prod'] }))).toMatchObject({
      code: 'NOT_PROMOTED',
      subject: `${kind} mine`,
      message: `this ${kind} would take effect in prod without a promotion`,
    });
    office.commit({ 'environments/prod/own-rights.yaml': '' });
    expect(summarise(await office.build({ environments: ['prod'] }))).toEqual(['prod/press unchanged 1']);
  });

  test("may be in the environment's own folder when the promoted fleet.yaml allows the kind", async () => {
    const fleet = FILES['fleet.yaml']?.replace(
      'promotedFrom: qa',
      'promotedFrom: qa, directKinds: [Workspace]',
    );
    const { office } = await promotedToProd({ ...FILES, 'fleet.yaml': fleet ?? '' });
    office.commit({ 'environments/prod/own-rights.yaml': ours('Workspace', 'mine', 'spec: {}\n') });
    expect(summarise(await office.build({ environments: ['prod'] }))).toEqual(['prod/press unchanged 1']);
    office.commit({ 'fleet.yaml': `${fleet?.replace('[Workspace]', '[Workspace, Template]')}` });
    office.commit({
      'environments/prod/t.yaml': ours('Template', 't', 'spec: {type: namespace, manifests: []}\n'),
    });
    const refusal = await refusalOf(office.build({ environments: ['prod'] }));
    expect(refusal).toMatchObject({ code: 'NOT_PROMOTED', at: { file: expect.stringContaining('t.yaml') } });
  });
});
