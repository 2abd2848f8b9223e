import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import {
  resumeChannel,
  rollBackChannel,
} from '../../../../../scheduler/hub/promote/decide/roll-back-channel.ts';
import { NOW } from '../../../release/removals/office.ts';
import { chainedOffice, changeShared, type ChainedOffice } from './chained-office.ts';

const { signal } = new AbortController();
const after = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
const channel = { environment: 'qa', clusterType: 'press' };
const wish = { channel, to: 1, person: 'ann', reason: 'labels are blank', signal };

const decisions = async (office: ChainedOffice): Promise<readonly unknown[]> =>
  (await office.entries()).flatMap((entry) =>
    entry.kind === 'decision'
      ? [[entry.predicate.decision, entry.predicate.only, entry.predicate.rollback]]
      : [],
  );

test('a rollback of a release is logged and released once, even if the call is repeated', async () => {
  const office = await chainedOffice();
  await changeShared(office, after(1));
  const { keys } = (await office.openChain()).hub;
  const first = await rollBackChannel(keys, office.layout, { ...wish, now: after(2) });
  expect(first).toMatchObject({ channel: 'qa/press', to: 1, release: 3 });
  const again = await rollBackChannel(keys, office.layout, { ...wish, now: after(3), repeats: after(2) });
  expect(again).toEqual(first);
  expect(await decisions(office)).toEqual([
    ['roll-back', 'qa/press', { release: 1, instead: [expect.stringMatching(/^sha256:/)] }],
  ]);
});

test('builds do not release the rolled-back bundle until a new bundle is built or a person ends the rollback', async () => {
  const office = await chainedOffice();
  await changeShared(office, after(1));
  const { keys } = (await office.openChain()).hub;
  await rollBackChannel(keys, office.layout, { ...wish, now: after(2) });
  const build = async (minutes: number) => {
    const { channels } = await office.build({ environments: ['qa'], now: after(minutes) });
    const { outcome, version, takenBack } = channels.find(({ clusterType }) => clusterType === 'press') ?? {};
    return [outcome, version, takenBack?.code];
  };
  expect(await build(3)).toEqual(['taken-back', 3, 'ROLLED_BACK']);
  const resume = { channel, person: 'ann', reason: 'it was the printer', signal };
  expect(await resumeChannel(keys, office.layout, { ...resume, now: after(4) })).toEqual({
    outcome: 'decided',
  });
  expect(await resumeChannel(keys, office.layout, { ...resume, now: after(5) })).toEqual({
    outcome: 'unchanged',
  });
  expect(await build(6)).toEqual(['released', 4, undefined]);
  await rollBackChannel(keys, office.layout, { ...wish, now: after(7) });
  await office.edit('apps/labels/host/package.yaml', (text) =>
    text.replace('/opt/labels/two', '/opt/labels/three'),
  );
  expect(await build(8)).toEqual(['released', 6, undefined]);
});

test('a rollback that was killed after its decision is continued and decided once', async () => {
  const office = await chainedOffice();
  await changeShared(office, after(1));
  const { keys } = (await office.openChain()).hub;
  const killed: typeof keys = {
    ...keys,
    key: (role) =>
      role === 'release' ? Promise.reject(new FleetError('ABORTED', 'killed')) : keys.key(role),
  };
  await expect(rollBackChannel(killed, office.layout, { ...wish, now: after(2) })).rejects.toMatchObject({
    code: 'ABORTED',
  });
  expect(await decisions(office)).toHaveLength(1);
  const again = await rollBackChannel(keys, office.layout, { ...wish, now: after(3), repeats: after(2) });
  expect(again.release).toBe(3);
  expect(await decisions(office)).toHaveLength(1);
});

test('an impossible rollback is refused before anything is decided', async () => {
  const office = await chainedOffice();
  const { keys } = (await office.openChain()).hub;
  await expect(rollBackChannel(keys, office.layout, { ...wish, to: 9, now: NOW })).rejects.toMatchObject({
    code: 'RELEASE_MISSING',
  });
  expect(await decisions(office)).toEqual([]);
});
