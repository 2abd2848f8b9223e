import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import { assess } from '../../../../../scheduler/hub/promote/gate/assess.ts';
import { linkTo } from '../../../../../scheduler/hub/promote/facts/link.ts';
import { promote } from '../../../../../scheduler/hub/promote/gate/promote.ts';
import type { KeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { openReleases } from '../../../../../scheduler/release/write/open-releases.ts';
import { NOW } from '../../../release/removals/office.ts';
import { chainedOffice } from '../decide/chained-office.ts';

const { signal } = new AbortController();

test('a refusal of the signer is reported with the reports that were not shown to it', async () => {
  const office = await chainedOffice();
  const { hub, promotion } = await office.openChain();
  const assessment = await assess(hub, linkTo(promotion, 'prod'), { now: NOW, signal, asks: 'ann' });
  const refusing = (code: 'NOT_PROMOTED' | 'NOT_NEWER'): KeyDirectory => ({
    ...hub.keys,
    key: async (role) => {
      if (role === 'release') throw new FleetError(code, 'refused', { hint: 'Wait' });
      return hub.keys.key(role);
    },
  });
  using releases = await openReleases(office.layout, { command: 'promote', now: NOW });
  const ask = (keys: KeyDirectory, leftOut: readonly string[]) =>
    promote(
      releases,
      keys,
      { ...assessment, show: async () => leftOut },
      {
        mode: 'manual',
        person: 'ann',
        reason: null,
        now: NOW,
      },
    );
  await expect(ask(refusing('NOT_PROMOTED'), ['plant-d/press-1: 2'])).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
    message: 'refused',
    hint: expect.stringMatching(/^Wait\. The hub does not have .*: plant-d\/press-1: 2$/),
  });
  await expect(ask(refusing('NOT_PROMOTED'), [])).rejects.toMatchObject({ hint: 'Wait' });
  await expect(ask(refusing('NOT_NEWER'), ['plant-d/press-1: 2'])).rejects.toMatchObject({ hint: 'Wait' });
});
