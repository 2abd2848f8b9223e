import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { addDays } from '#bundles/time';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { bundlesOf, readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import { renewRelease } from '../../../../scheduler/release/reissue/renew-release.ts';
import {
  decideRollout,
  type RolloutDecision,
  startRollout,
} from '../../../../scheduler/release/rollout/begin-rollout.ts';
import { carryOut, readCurrentRollout } from '../../../../scheduler/release/rollout/carry-out.ts';
import { readPlan } from '../../../../scheduler/release/rollout/plan-document.ts';
import { EVERYONE } from '../../../../scheduler/release/rollout/plan-rollout.ts';
import { writeFiles } from '../../file-tree.ts';
import { makeBuiltOffice, makeOffice, NOW, type Office, summarise } from '../removals/office.ts';

const CHANNEL = { environment: 'prod', clusterType: 'press' };
const PILOT = { selector: { ring: 'pilot' }, percent: 100 };
const POLICY = `apiVersion: fleet-ferry/v1alpha1
kind: RolloutPolicy
metadata: {name: prod-rings}
spec:
  environment: prod
  stages:
    - {name: pilot, selector: {matchLabels: {ring: pilot}}, soak: 12h}
    - {name: quarter, percent: 25}
    - {name: all, percent: 100}
`;

const openKeys = (office: Office) => openKeyDirectory(join(office.folder, 'keys'));

const current = async (office: Office) => {
  const { roots } = await openKeys(office);
  const found = await readRelease(await openLayout(office.layout), CHANNEL, roots);
  if (!found) throw new Error('no release');
  return found;
};

const stateOf = async (office: Office) => {
  const { predicate } = await current(office);
  return [predicate.version, predicate.rollout];
};

const decisionsOf = async (office: Office) => {
  const { roots } = await openKeys(office);
  const { entries } = await readAuditLog(await openLayout(office.layout), roots);
  return entries.flatMap((entry) =>
    entry.kind === 'decision' && entry.predicate.only === 'prod/press'
      ? [`${entry.predicate.decision} ${entry.predicate.stage ?? ''}`.trim()]
      : [],
  );
};

const decide = async (
  office: Office,
  decision: Pick<RolloutDecision, 'decision' | 'stage'>,
  isKilled = false,
): Promise<string | undefined> => {
  const keys = await openKeys(office);
  using releases = await openReleases(office.layout, { command: 'test', now: NOW });
  const stored = await readPlan(await releases.open(), await current(office));
  if (!stored) throw new Error('no plan');
  await decideRollout(releases, keys, stored, { ...decision, person: 'ada', reason: 'because' }, NOW);
  return isKilled ? undefined : await follow(office, releases);
};

const follow = async (
  office: Office,
  releases: Awaited<ReturnType<typeof openReleases>>,
): Promise<string | undefined> => {
  const keys = await openKeys(office);
  const rolling = await readCurrentRollout(await releases.open(), keys, CHANNEL, NOW);
  const carried = rolling && (await carryOut(await releases.open(), keys, rolling, NOW));
  if (carried) await releases.point(carried.references);
  return carried?.what;
};

/** Release 1 reaches everyone; release 2 is in its first stage. */
const inStages = async (): Promise<Office> => {
  const office = await makeBuiltOffice();
  await writeFiles(office.folder, { 'platform/promotion/rollout.yaml': POLICY });
  await change(office, 'one');
  await office.build();
  return office;
};

const change = (office: Office, to: string) =>
  office.edit('apps/labels/host/package.yaml', (text) => text.replace(/labels\S*(?=\}\])/, `labels/${to}`));

describe('the release of a changed channel', () => {
  it('reaches every agent at once without a RolloutPolicy', async () => {
    const office = await makeBuiltOffice();
    expect(await stateOf(office)).toEqual([1, EVERYONE]);
    expect(await decisionsOf(office)).toEqual([]);
  });

  it('starts with the first stage, only for changed channels', async () => {
    const office = await makeBuiltOffice();
    await writeFiles(office.folder, { 'platform/promotion/rollout.yaml': POLICY });
    await change(office, 'one');
    const { channels } = await office.build();
    expect(channels.map(({ clusterType, outcome, stage }) => [clusterType, outcome, stage])).toEqual([
      ['press', 'released', 'pilot'],
      ['till', 'unchanged', undefined],
    ]);
    expect(await stateOf(office)).toEqual([2, PILOT]);
    expect(await decisionsOf(office)).toEqual(['start-rollout pilot']);
    // Built again, it stays where it is.
    expect(summarise(await office.build())).toEqual(['press unchanged 2', 'till unchanged 1']);
    expect(await stateOf(office)).toEqual([2, PILOT]);
  });

  it('is refused while the RolloutPolicy has an error', async () => {
    const office = await makeOffice();
    await writeFiles(office.folder, {
      'platform/promotion/rollout.yaml': POLICY.replace('environment: prod', 'environment: prd'),
    });
    await expect(office.build()).rejects.toMatchObject({ code: 'REFERENCE_MISSING' });
  });

  it('is widened under the next number, and a renewal keeps its stage', async () => {
    const office = await inStages();
    const before = bundlesOf(await current(office));
    expect(await decide(office, { decision: 'advance', stage: 'quarter' })).toBe('widened');
    const quarter = { ...PILOT, also: [{ percent: 25 }] };
    expect(await stateOf(office)).toEqual([3, quarter]);
    expect(bundlesOf(await current(office))).toEqual(before);
    {
      using releases = await openReleases(office.layout, { command: 'test', now: NOW });
      const { references } = await renewRelease(await releases.open(), await openKeys(office), {
        channel: CHANNEL,
        previous: await current(office),
        now: addDays(NOW, 1),
        anyway: true,
      });
      await releases.point(references);
    }
    expect(await stateOf(office)).toEqual([4, quarter]);
    expect(await decide(office, { decision: 'advance', stage: 'all' })).toBe('widened');
    expect(await stateOf(office)).toEqual([5, EVERYONE]);
  });

  it('is continued after a kill between decision and release', async () => {
    const office = await inStages();
    await decide(office, { decision: 'advance', stage: 'quarter' }, true);
    expect(await stateOf(office)).toEqual([2, PILOT]);
    using releases = await openReleases(office.layout, { command: 'test', now: NOW });
    expect(await follow(office, releases)).toBe('widened');
    expect(await follow(office, releases)).toBeUndefined();
    expect(await decisionsOf(office)).toEqual(['start-rollout pilot', 'advance quarter']);
  });

  it('logs its start once, even if a build was killed after the decision', async () => {
    const office = await inStages();
    using releases = await openReleases(office.layout, { command: 'test', now: NOW });
    const stored = await readPlan(await releases.open(), await current(office));
    if (!stored) throw new Error('no plan');
    await startRollout(releases, await openKeys(office), stored, addDays(NOW, 1));
    expect(await decisionsOf(office)).toEqual(['start-rollout pilot']);
  });

  it('is rolled back for everyone by one decision, and the next build does not release the bundle again', async () => {
    const office = await inStages();
    const stored = await readPlan(await openLayout(office.layout), await current(office));
    expect(stored?.plan.before?.version).toBe(1);
    expect(await decide(office, { decision: 'take-back' })).toBe('taken back');
    expect(await stateOf(office)).toEqual([3, EVERYONE]);
    const built = await office.build();
    expect(summarise(built)[0]).toBe('press taken-back 3');
    expect(built.channels[0]?.takenBack?.code).toBe('ROLLOUT_TAKEN_BACK');
    // A corrected bundle begins at the first stage.
    await change(office, 'two');
    expect(summarise(await office.build())[0]).toBe('press released 4');
    expect(await stateOf(office)).toEqual([4, PILOT]);
  });

  it('starts at the first stage when it supersedes a rollout, and keeps the version to roll back to', async () => {
    const office = await inStages();
    await decide(office, { decision: 'advance', stage: 'quarter' });
    await change(office, 'two');
    const [press] = (await office.build()).channels;
    expect(press?.superseded).toEqual({ stage: 'quarter', version: 3 });
    expect(await stateOf(office)).toEqual([4, PILOT]);
    const stored = await readPlan(await openLayout(office.layout), await current(office));
    expect(stored?.plan.before?.version).toBe(1);
  });
});
