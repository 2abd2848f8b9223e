import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { compareBytes } from '#bundles/digest';
import { ALARMS } from '../../scheduler/hub/alarms/alarm.ts';

const page = readFileSync(new URL('../../docs/operations/alarms.md', import.meta.url), 'utf8');

it('the page of alarms lists every alarm once, and no other', () => {
  const listed = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, kind = '']) => kind);
  expect(listed).toEqual([...new Set(listed)]);
  expect(listed.toSorted(compareBytes)).toEqual(Object.keys(ALARMS).toSorted(compareBytes));
});
