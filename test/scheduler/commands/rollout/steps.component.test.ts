import { join } from 'node:path';
import { expect, it } from 'vitest';
import { decide, describeDecided } from '../../../../scheduler/commands/rollout/steps.ts';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { writeFiles } from '../../file-tree.ts';
import { makeOffice, NOW } from '../../release/removals/office.ts';

const POLICY = `apiVersion: fleet-ferry/v1alpha1
kind: RolloutPolicy
metadata: {name: prod-rings}
spec:
  environment: prod
  stages:
    - {name: pilot, selector: {matchLabels: {ring: pilot}}}
    - {name: all, percent: 100}
`;

it('a person pauses, resumes and advances a rollout, and only the advance makes a release', async () => {
  const office = await makeOffice();
  await writeFiles(office.folder, { 'platform/promotion/rollout.yaml': POLICY });
  await office.build();
  const given = { layout: office.layout, keys: join(office.folder, 'keys') };
  const configuration = await readConfiguration(given, office.folder);
  const flags = { channel: 'prod/press', reason: 'because', person: 'ada' };
  const decided = async (decision: 'pause' | 'resume' | 'advance') =>
    describeDecided(await decide(configuration, decision, flags, NOW));
  expect(await decided('pause')).toBe('prod/press: pause');
  expect(await decided('resume')).toBe('prod/press: resume');
  expect(await decided('advance')).toBe('prod/press: advance all, release 2');
});

it('refuses a decision about a channel that is in no rollout', async () => {
  const office = await makeOffice();
  await office.build();
  const given = { layout: office.layout, keys: join(office.folder, 'keys') };
  const configuration = await readConfiguration(given, office.folder);
  const flags = { channel: 'prod/press', reason: 'because' };
  await expect(decide(configuration, 'pause', flags, NOW)).rejects.toMatchObject({
    code: 'ROLLOUT_MISSING',
  });
});
