import { describe, expect, it } from 'vitest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { lineagesOf } from '../../../../scheduler/load/releases/check-promoted.ts';
import { readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { readCandidate } from '../../../../scheduler/assemble/candidate/read-candidate.ts';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import {
  resumeAssignment,
  rollBackAssignment,
} from '../../../../scheduler/release/reissue/roll-back-assignment.ts';
import { ours } from '../../fleet-platform.ts';
import {
  type ChainOffice,
  FILES,
  NOW,
  officesAfter,
  openChainOffice,
  summarise,
} from '../chain/chain-office.ts';

const MANIFEST = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {a: ${value}}\n`;

/** Two assignments in each environment: web and till. */
const TWO = {
  ...FILES,
  'apps/shop/deploy/workload.yaml': ours(
    'Workload',
    'shop',
    `spec:\n  deploymentTargets:\n${['dev', 'qa', 'prod']
      .flatMap((environment) =>
        ['web', 'till'].map(
          (name) =>
            `    - {name: ${name}, environment: ${environment}, manifests: {path: apps/shop/${name}}}\n`,
        ),
      )
      .join('')}`,
  ),
  'apps/shop/web/web.yaml': MANIFEST('web', 'one'),
  'apps/shop/till/till.yaml': MANIFEST('till', 'one'),
};

let office: ChainOffice;

const change = (name: 'web' | 'till', value: string, at = office): void =>
  at.commit({ [`apps/shop/${name}/${name}.yaml`]: MANIFEST(name, value) });

/** The newest state goes to qa. */
const toQa = async (at = office): Promise<readonly string[]> => {
  await at.build();
  await at.promote('dev', 'qa');
  return summarise(await at.build()).filter((line) => line.startsWith('qa/'));
};

/** Release 1 is in qa. */
const afterOne = officesAfter(toQa, TWO);

/** Release 2 is in qa, with another web. */
const afterTwo = officesAfter(async (at) => {
  await toQa(at);
  change('web', 'two', at);
  await toQa(at);
}, TWO);

const wish = {
  channel: { environment: 'qa', clusterType: 'press' },
  person: 'ada',
  reason: 'it lost orders',
  now: NOW,
};

const takeBack = async (assignment: string, to: number, change: Partial<typeof wish> = {}) => {
  using releases = await openReleases(office.layout, { command: 'test', now: NOW });
  return (await rollBackAssignment(releases, office.keys, { ...wish, ...change, assignment, to })).outcome;
};

const resume = async (assignment: string) => {
  using releases = await openReleases(office.layout, { command: 'test', now: NOW });
  return (await resumeAssignment(releases, office.keys, { ...wish, assignment })).outcome;
};

/** Packages of the current release by assignment, and what its statement holds. */
const released = async (environment = 'qa') => {
  const layout = await openLayout(office.layout);
  const release = await readRelease(layout, { environment, clusterType: 'press' }, office.keys.roots);
  if (!release) throw new Error('no release');
  const { config } = await readBundle(layout.blobs, release.subjects.get('bundle/kubernetes') as Digest);
  const [said] = await lineagesOf(layout, release);
  return {
    number: release.predicate.version,
    packages: Object.fromEntries(config.assignments.map((one) => [one.id, one.package])),
    held: said?.held?.map(({ assignment, code, kept }) => [assignment, code, kept]),
  };
};

const decisions = async (): Promise<readonly string[]> =>
  (await readAuditLog(await openLayout(office.layout), office.keys.roots)).entries.flatMap((entry) =>
    entry.kind === 'decision' ? [`${entry.predicate.decision} ${entry.predicate.only}`] : [],
  );

describe('a rollback of one assignment', () => {
  it('releases its earlier package, and leaves the others unchanged', async () => {
    office = await afterOne();
    const first = await released();
    change('web', 'two');
    change('till', 'two');
    expect(await toQa()).toEqual(['qa/press released 2']);
    const second = await released();
    expect(await takeBack('shop-web', 1)).toBe('decided');
    expect(summarise(await office.build())).toContain('qa/press released 3');
    const third = await released();
    expect(third.packages).toEqual({
      'shop-web': first.packages['shop-web'],
      'shop-till': second.packages['shop-till'],
    });
    expect(third.held).toEqual([['shop-web', 'ROLLED_BACK', first.packages['shop-web']]]);
    expect(await decisions()).toEqual(['roll-back qa/press/shop-web']);
    // It holds, and is decided once.
    expect(await takeBack('shop-web', 1)).toBe('unchanged');
    expect(summarise(await office.build())).toContain('qa/press unchanged 3');
    expect(await decisions()).toHaveLength(1);
  });

  it('lasts while the environment changes its own layer, and ends with the next promotion', async () => {
    office = await afterOne();
    const first = await released();
    change('web', 'two');
    await toQa();
    await takeBack('shop-web', 1);
    await office.build();
    office.commit({ 'environments/qa/own.yaml': ours('Config', 'own', 'spec:\n  values: {OWN: "qa-1"}\n') });
    await office.build();
    expect((await released()).packages['shop-web']).toBe(first.packages['shop-web']);
    change('till', 'three');
    await toQa();
    const { packages, held } = await released();
    expect(packages['shop-web']).not.toBe(first.packages['shop-web']);
    expect(held).toEqual([]);
  });

  it('is not a direct change for a policy that forbids those', async () => {
    office = await openChainOffice(TWO);
    office.commit({
      'promotion/qa.yaml': ours('PromotionPolicy', 'qa', 'spec: {from: dev, to: qa, direct: forbid}\n'),
    });
    await toQa();
    change('web', 'two');
    await toQa();
    await takeBack('shop-web', 1);
    expect(summarise(await office.build())).toContain('qa/press released 3');
    expect(await resume('shop-web')).toBe('decided');
    expect(summarise(await office.build())).toContain('qa/press released 4');
    expect(await resume('shop-web')).toBe('unchanged');
  });

  it('closes the gate to the next environment, because the promoted candidate no longer runs', async () => {
    office = await afterTwo();
    await takeBack('shop-web', 1);
    await office.build();
    // The gate and the signer judge what the statement says is held (judge-gate, H36).
    expect((await released()).held).toHaveLength(1);
    await resume('shop-web');
    await office.build();
    expect((await released()).held).toEqual([]);
  });

  it('without promotions ends when another package is built', async () => {
    office = await openChainOffice(TWO);
    await office.build();
    const first = await released('dev');
    change('web', 'two');
    await office.build();
    const channel = { environment: 'dev', clusterType: 'press' };
    await takeBack('shop-web', 1, { channel });
    change('till', 'two');
    await office.build();
    expect((await released('dev')).packages['shop-web']).toBe(first.packages['shop-web']);
    // A second rollback is still of what the build makes, not of what the first put in its place.
    change('web', 'three');
    await office.build();
    const last = await released('dev');
    expect(last.packages['shop-web']).not.toBe(first.packages['shop-web']);
    expect(last.held).toEqual([]);
  });

  it('is part of the candidate, so that building it again gives the same bundle', async () => {
    office = await afterTwo();
    await takeBack('shop-web', 1);
    await office.build();
    const { digest } = await office.candidateOf('qa');
    await resume('shop-web');
    const candidate = await readCandidate(
      digest ?? '',
      [(await openLayout(office.layout)).blobs],
      new AbortController().signal,
    );
    const again = await office.build({ candidate, environments: ['qa'] });
    expect(summarise(again)).toEqual(['qa/press unchanged 3']);
  });

  it('reaches all agents at once, unless some of them lack the previous release', async () => {
    const stages = `spec:\n  environment: qa\n  stages:\n    - {name: pilot, selector: {matchLabels: {ring: pilot}}}\n    - {name: all, percent: 100}\n`;
    office = await afterTwo();
    office.commit({ 'promotion/rings.yaml': ours('RolloutPolicy', 'rings', stages) });
    await takeBack('shop-web', 1);
    const built = await office.build();
    expect(built.channels.find(({ environment }) => environment === 'qa')).toMatchObject({
      outcome: 'released',
      version: 3,
    });
    expect(built.channels.find(({ environment }) => environment === 'qa')?.stage).toBeUndefined();
    await resume('shop-web');
    const back = await office.build();
    expect(back.channels.find(({ environment }) => environment === 'qa')?.stage).toBe('pilot');
    // The pilot runs release 4; the others must not get the rest of it by a rollback.
    await takeBack('shop-web', 1, { reason: 'again' });
    const during = await office.build();
    expect(during.channels.find(({ environment }) => environment === 'qa')?.stage).toBe('pilot');
  });

  it('requires an assignment of the release, another earlier package, and a reason', async () => {
    office = await afterOne();
    change('till', 'two');
    await toQa();
    const refused = async (...words: Parameters<typeof takeBack>): Promise<FleetError> =>
      (await takeBack(...words).catch((error: unknown) => error)) as FleetError;
    expect(await refused('shop-wbe', 1)).toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('web'),
    });
    expect(await refused('shop-web', 1)).toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('history'),
    });
    expect(await refused('shop-till', 9)).toMatchObject({ code: 'RELEASE_MISSING' });
    expect(await refused('shop-till', 1, { reason: ' ' })).toMatchObject({ code: 'USAGE' });
    expect(await decisions()).toEqual([]);
  });
});
