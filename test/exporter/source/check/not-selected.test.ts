import { expect, it } from 'vitest';
import { notSelected } from '../../../../exporter/plan/prepare.ts';
import type { Offer } from '../../../../exporter/source/offer.ts';

const channel = { environment: 'prod', clusterType: 'kiosk' };
const agent = (name: string, ring: string) => ({ name, channel, labels: { ring } });
const offer = (rollout: Offer['channels'][number]['rollout']) =>
  ({
    sites: [{ site: 'plant-7', agents: [agent('a', 'pilot'), agent('b', 'late'), agent('c', 'late')] }],
    channels: [{ channel, version: 5, expires: '', rollout, bundles: [] }],
  }) as unknown as Offer;

it('notSelected names the agents of a medium that its release does not select yet', () => {
  expect(notSelected(offer({ selector: { ring: 'pilot' }, percent: 100 }))).toEqual([
    'prod/kiosk: release 5 does not select plant-7/b, plant-7/c yet; they stay at what they run',
  ]);
  expect(notSelected(offer({ percent: 100 }))).toEqual([]);
});

it('notSelected leaves out agents that a further term selects', () => {
  const rollout = {
    selector: { ring: 'pilot' },
    percent: 100,
    also: [{ selector: { ring: 'late' }, percent: 100 }],
  };
  expect(notSelected(offer(rollout))).toEqual([]);
});
