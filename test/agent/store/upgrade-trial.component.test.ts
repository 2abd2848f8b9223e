import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { confirmUpgrade, openDuringTrial, readUpgrade } from '../../../agent/store/upgrade-trial.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

it('confirmUpgrade marks a version on trial as healthy', async () => {
  await using folder = await temporaryDirectory('upgrade');
  mkdirSync(join(folder.path, 'upgrade'));
  writeFileSync(join(folder.path, 'upgrade/trial'), '1.0.0\n');
  confirmUpgrade(folder.path);
  expect(existsSync(join(folder.path, 'upgrade/healthy'))).toBe(true);
});

it('confirmUpgrade writes nothing when no version is on trial', async () => {
  await using folder = await temporaryDirectory('upgrade');
  confirmUpgrade(folder.path);
  mkdirSync(join(folder.path, 'upgrade'));
  confirmUpgrade(folder.path);
  expect(existsSync(join(folder.path, 'upgrade/healthy'))).toBe(false);
});

/** The files of deploy/debian/fleet-agent.trial in a state directory. */
const withFiles = async (files: Readonly<Record<string, string>>) => {
  const folder = await temporaryDirectory('upgrade');
  mkdirSync(join(folder.path, 'upgrade/refused'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, 'upgrade', name), text);
  return folder;
};

describe('the state of an upgrade', () => {
  it.each([
    ['no upgrade', {}, undefined],
    [
      'on trial',
      { trial: '2.0.0\n' },
      {
        kind: 'trial',
        message: expect.stringMatching(/^fleet-agent 2\.0\.0 is on trial\. .*Leave the machine on;/),
      },
    ],
    [
      'an interrupted upgrade on the way back',
      { trial: '2.0.0\n', back: '' },
      {
        kind: 'going-back',
        message: expect.stringMatching(
          /^the upgrade to fleet-agent 2\.0\.0 was interrupted; the version before it is being/,
        ),
      },
    ],
    [
      'a bad version on the way back',
      { trial: '2.0.0\n', back: '', 'refused/2.0.0': 'it ended 3 times\n' },
      {
        kind: 'going-back',
        message: expect.stringMatching(/^fleet-agent 2\.0\.0 failed: it ended 3 times; .* Leave the/),
      },
    ],
    [
      'undone',
      { undone: 'fleet-agent 2.0.0 did not come up: it ended 3 times.\n' },
      { kind: 'undone', message: 'fleet-agent 2.0.0 did not come up: it ended 3 times.' },
    ],
  ] as const)('%s', async (_title, files, expected) => {
    await using folder = await withFiles(files);
    expect(readUpgrade(folder.path)).toEqual(expected);
  });
});

it('openDuringTrial does not open a database that the upgrade has not copied yet', async () => {
  await using folder = await withFiles({ trial: '2.0.0' });
  let opened = 0;
  const open = () => openDuringTrial(folder.path, () => (opened += 1));
  expect(open).toThrow(
    expect.objectContaining({ code: 'BUSY', hint: expect.stringContaining('fleet-agent 2.0.0 is on trial') }),
  );
  expect(opened).toBe(0);
  writeFileSync(join(folder.path, 'upgrade/state'), '');
  open();
  expect(opened).toBe(1);
});

it('openDuringTrial adds the hint of the trial to the refusal of a newer database', async () => {
  await using folder = await withFiles({ trial: '2.0.0', back: '', state: '' });
  const newer = new FleetError('AGENT_TOO_OLD', 'state.db was written by a newer agent', {
    hint: 'Update the agent',
  });
  const open = () =>
    openDuringTrial(folder.path, () => {
      throw newer;
    });
  expect(open).toThrow(
    expect.objectContaining({ code: 'AGENT_TOO_OLD', hint: expect.stringContaining('Leave the machine on') }),
  );
  await using without = await withFiles({});
  const known = () =>
    openDuringTrial(without.path, () => {
      throw newer;
    });
  expect(known).toThrow(newer);
});
