import { expect, test } from 'vitest';
import type { Media } from '#bundles/schemas/types/hub-decisions';
import { nextMedia } from '../../../../scheduler/page/parts/next-media.ts';

const carried = (site: string, accepted: number | null, isOverdue = false, channel = 'prod/press') =>
  ({
    site,
    agent: `${site}/press-1`,
    channel,
    newest: { version: 3, issuedAt: '2026-11-20T00:00:00Z' },
    accepted: accepted === null ? null : { channel, version: accepted },
    back: accepted === null ? null : {},
    visit: { expectedBy: '2026-11-22T00:00:00Z', isOverdue },
  }) as unknown as Media['agents'][number];

test('the next media carry to each channel what its agents did not import, overdue ones first', () => {
  const agents = [carried('a', 3), carried('b', 2), carried('c', null), carried('d', 2, true, 'prod/till')];
  expect(nextMedia(agents)).toEqual([
    {
      channel: 'prod/till',
      version: 3,
      sites: ['d'],
      overdue: 1,
      command:
        'fleet-export plan --from releases --channel prod/till --site d --for site:d --to /media/stick',
    },
    {
      channel: 'prod/press',
      version: 3,
      sites: ['b', 'c'],
      overdue: 0,
      command:
        'fleet-export plan --from releases --channel prod/press --site b --for site:b --site c --to /media/stick',
    },
  ]);
});

test('a channel of many sites is planned as a whole', () => {
  const agents = Array.from({ length: 21 }, (_, index) => carried(`s-${index}`, 1));
  expect(nextMedia(agents)[0]?.command).toBe(
    'fleet-export plan --from releases --channel prod/press --to /media/stick',
  );
});
