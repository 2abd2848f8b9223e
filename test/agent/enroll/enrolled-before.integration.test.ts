import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { OnlineEnrollment } from '../../../agent/enroll/enroll-online.ts';
import { enrolledBefore } from '../../../agent/enroll/enrolled-before.ts';
import { createOnlineWorld, type OnlineWorld } from '../online-world.ts';
import { SITE } from '../world.ts';

const wish = ({ fleet }: OnlineWorld, more: Partial<OnlineEnrollment> = {}): OnlineEnrollment => ({
  fleet: undefined,
  site: SITE,
  agent: 'kiosk-1',
  channel: { environment: 'prod', clusterType: 'factory-host' },
  labels: {},
  pinnedRoot: digestOf(fleet.roots[0] ?? ''),
  ...more,
});

describe('enrolledBefore', () => {
  it('returns a finished enrolment for the same arguments, without asking the hub', async () => {
    await using it = await createOnlineWorld();
    expect(await enrolledBefore(it.state, wish(it))).toBeUndefined();
    const enrolled = await it.enroll();
    const asked = it.hub.asked.length;
    expect(await enrolledBefore(it.state, wish(it))).toEqual(enrolled);
    expect(await enrolledBefore(it.state, wish(it, { fleet: 'halden' }))).toEqual(enrolled);
    expect(it.hub.asked.length).toBe(asked);
  });

  it('refuses other arguments as ALREADY_ENROLLED', async () => {
    await using it = await createOnlineWorld();
    await it.enroll();
    const other = enrolledBefore(it.state, wish(it, { site: 'plant-8' }));
    await expect(other).rejects.toMatchObject({ code: 'ALREADY_ENROLLED' });
  });

  it('returns nothing for an enrolment that was interrupted', async () => {
    await using it = await createOnlineWorld();
    it.hub.mischief = ({ method }, response) => {
      if (method === 'POST') response.destroy();
      return method === 'POST';
    };
    await expect(it.enroll()).rejects.toMatchObject({ code: 'HUB_UNREACHABLE' });
    expect(await enrolledBefore(it.state, wish(it))).toBeUndefined();
  });
});
