import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatError } from '#bundles/errors';
import { readDesired } from '../../../../scheduler/hub/questions/state/read-desired.ts';
import { describeStatus } from '../../../../scheduler/hub/questions/status/describe-status.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { makeBuiltOffice, NOW, type Office } from './office.ts';

const ENVIRONMENTS = '[{name: qa}, {name: prod}]';

/** What `status` says below its table about a channel that agents follow. */
const notes = async ({ folder, layout }: Office, name: string): Promise<readonly string[]> => {
  const { root } = await openKeyDirectory(join(folder, 'keys'));
  const channel = { environment: 'prod', clusterType: name };
  const nobody = { agents: [], gaps: [], alarms: [] };
  return describeStatus(await readDesired(layout, [channel], root), nobody, NOW).slice(1);
};

test('status names a channel whose environment was removed from the platform, until it is added again', async () => {
  const office = await makeBuiltOffice();
  expect(await notes(office, 'press')).toEqual([]);
  await office.edit('platform/fleet.yaml', (text) =>
    text.replace(ENVIRONMENTS, '[{name: qa}, {name: live}]'),
  );
  for (const file of ['labels', 'scale', 'info'])
    await office.edit(`apps/${file}/deploy/workload.yaml`, (text) =>
      text.replaceAll('environment: prod', 'environment: live'),
    );
  await office.build({ environments: ['qa', 'live'] });
  const line = (name: string): string =>
    `prod/${name} waits: a change was not released: CHANNEL_MISSING: the platform has no environment prod; no build renews this release. Move its agents, if it has any: fleet-scheduler sites set <site> --agent <agent> --channel <environment>/<cluster type>`;
  for (const name of ['press', 'till']) expect(await notes(office, name)).toEqual([line(name)]);
  await office.edit('platform/fleet.yaml', () => office.files['platform/fleet.yaml'] ?? '');
  await office.build({ environments: ['qa'] });
  expect(await notes(office, 'press')).toEqual([]);
});

test('status names a channel whose cluster type was renamed', async () => {
  const office = await makeBuiltOffice();
  await office.edit('platform/base/press.yaml', (text) => text.replace('name: press', 'name: anvil'));
  const { channels, abandoned } = await office.build();
  expect(channels.map(({ clusterType, outcome }) => `${clusterType} ${outcome}`)).toEqual([
    'anvil released',
    'till unchanged',
  ]);
  expect(await notes(office, 'press')).toEqual([
    expect.stringContaining('CHANNEL_MISSING: the platform has no cluster type press in prod; '),
  ]);
  expect(await notes(office, 'till')).toEqual([]);
  // Said by the build that finds it, and not by each one after it.
  expect(abandoned.map(formatError)).toEqual([
    'CHANNEL_MISSING: prod/press: the platform has no cluster type press in prod; no build renews this release. Move its agents, if it has any: fleet-scheduler sites set <site> --agent <agent> --channel <environment>/<cluster type>',
  ]);
  expect((await office.build()).abandoned).toEqual([]);
  await office.edit('platform/base/press.yaml', () => office.files['platform/base/press.yaml'] ?? '');
  await office.build();
  expect(await notes(office, 'press')).toEqual([]);
});
